/*
 * resolve.h -- resolves a path without following the symbolic links of other users.
 *
 * The kernel follows every symbolic link.  In a directory such as /tmp, a link of another user then
 * decides which file root creates or locks.  So a path is resolved here, entry by entry, from one
 * directory descriptor to the next.  A link is checked and read through one descriptor, so it
 * cannot be exchanged in between.
 *
 * A directory is shared if it is sticky, or if its group or everybody may write to it.
 *
 *   - In a shared directory, a link is followed if it belongs to the effective user, to root, or to
 *     the owner of that directory.
 *   - A directory that another user created in a shared directory is entered.  Below it, a link is
 *     followed only if it belongs to the effective user or to root.
 *   - In other directories every link is followed: only their owners can have created it.
 *
 * Not promised: protection from the owner of a directory on the path.
 */
#pragma once

#include "core/status.h"

#include <sys/types.h>

/* The result: an open directory, and the name of an entry in it, which may be missing. */
typedef struct bwl_file_resolved {
    int         at;   /* the directory, opened with O_PATH             */
    char       *path; /* of the entry: absolute, without links         */
    const char *leaf; /* its last component; "." for the root directory */
} bwl_file_resolved;

/* Resolves an absolute path.  A link in the last component is followed if `follows_last` is set;
 * then the entry is no link, unless one is created meanwhile: open it with O_NOFOLLOW.  Free with
 * bwl_file_resolved_free, also after an error.
 *
 * REFUSED (a link of another user, permission denied), NOMEM, SYSTEM.  errno has the cause after
 * SYSTEM, and after REFUSED for missing permission; it is ELOOP after REFUSED for a link. */
int  bwl_file_resolve(bwl_file_resolved *ret_resolved, const char *path, bool follows_last,
                      bwl_fault *fault);
void bwl_file_resolved_free(bwl_file_resolved *resolved);

/* As openat(2), but never a standard descriptor (0 to 2): output of a child must not go to a lock
 * file.  -1: errno is set. */
int bwl_file_open_at(int at, const char *path, int flags, mode_t mode);

void bwl_file_close_keeping_errno(int fd);

/* True if other users than its owner may create entries in a directory of this mode. */
bool bwl_file_is_shared(mode_t mode);
