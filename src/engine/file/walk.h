/*
 * walk.h -- following a path to its last entry without obeying the symbolic links of others.
 *
 * The kernel follows every symbolic link.  In a directory such as /tmp a link of another user then
 * decides which file root creates or locks.  A path is therefore followed here, one entry at a
 * time, from one directory descriptor to the next.  A link is checked and read through one
 * descriptor, so nobody can exchange it in between.
 *
 * A directory is shared if it is sticky, or if its group or everybody may write to it.
 *
 *   - In a shared directory, a link is followed if it belongs to the effective user, to root, or to
 *     the owner of that directory.
 *   - A directory that anybody else made in a shared directory is entered.  Below it, a link is
 *     followed only if it belongs to the effective user or to root.
 *   - In other directories every link is followed: only their owners can have put it there.
 *
 * Not promised: protection from the owner of a directory on the path.
 */
#ifndef BWL_ENGINE_FILE_WALK_H
#define BWL_ENGINE_FILE_WALK_H

#include "core/status.h"

#include <sys/types.h>

/* Where a path leads: an open directory, and the name of an entry in it, which may be missing. */
typedef struct bwl_file_way {
    int         at;   /* the directory, opened with O_PATH                                       */
    char       *path; /* of the entry: absolute, without links                                   */
    const char *leaf; /* its last piece; "" for the root directory                               */
} bwl_file_way;

/* Follows an absolute path.  A link that is its last entry is followed if `follows_last`; then the
 * entry found is no link, unless one is made meanwhile: open it with O_NOFOLLOW.  Free with
 * bwl_file_way_free, also after an error.
 *
 * REFUSED (a link of others, permission denied), NOMEM, SYSTEM.  errno says why after SYSTEM, and
 * after REFUSED for missing permission; it is ELOOP after REFUSED for a link. */
int  bwl_file_walk(bwl_file_way *ret_way, const char *path, bool follows_last, bwl_fault *fault);
void bwl_file_way_free(bwl_file_way *way);

/* The leaf as an argument of openat and fstatat: "." for the root directory. */
const char *bwl_file_way_entry(const bwl_file_way *way);

/* True if others than the owner of a directory of this mode may put entries into it. */
bool bwl_file_is_shared(mode_t mode);

#endif
