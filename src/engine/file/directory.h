/*
 * directory.h -- the lock directory: the directory of the lock files of bare names; and how a path
 * is resolved without following the symbolic links of other users.
 *
 * The default directory, that of the URL `file:`, is /run/lock/bowline-UID.  It depends on the
 * effective user alone, so a cron job and a login shell of one user find the same locks.  It is
 * created when it is missing, and is private to the user.
 *
 * A directory that the URL names must exist, and may be shared between users: mode 2775 for a
 * group, 1777 for everybody.  A directory that is writable by everybody and not sticky is refused,
 * because any user can replace files in it.  The last entry of its path must not be a link.
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

#include <sys/stat.h>
#include <sys/types.h>

enum { BWL_FILE_PATH_MAX = 4096 };

/* The permissions of a directory: new files in it get the same. */
typedef struct bwl_file_sharing {
    mode_t mode;
    uid_t  owner;
    gid_t  group;
} bwl_file_sharing;

typedef struct bwl_file_directory {
    int  fd;         /* -1: not open                                                           */
    bool is_private; /* the default directory: files of other users are refused                */
    bool is_remote;  /* on a network file system: see bwl_file_is_remote                       */
    bwl_file_sharing sharing; /* when it was opened */
    char             path[BWL_FILE_PATH_MAX];
} bwl_file_directory;

/* Opens a directory that the URL names.  REFUSED, SYSTEM. */
int bwl_file_directory_open(bwl_file_directory *directory, const char *path, bwl_fault *fault);

/* Opens `parent`/bowline-UID.  If it is missing, creates it if `make` is set, and otherwise leaves
 * the fd -1.  REFUSED, SYSTEM. */
int bwl_file_directory_open_own(bwl_file_directory *directory, const char *parent, bool make,
                                bwl_fault *fault);

void bwl_file_directory_close(bwl_file_directory *directory);

/* True on a file system where other machines take part in locks, or where inotify does not report
 * their changes.  Files there are polled. */
bool bwl_file_is_remote(int fd);

/* Opens a directory within another, without following a link.  -1: errno is set, and
 * bwl_file_directory_error turns it into an error message. */
int bwl_file_open_directory(int at, const char *path);
int bwl_file_directory_error(const char *path, bwl_fault *fault);

/* Gives a new file or directory the permissions of `with`, and `mode` at least. */
void bwl_file_share(int fd, mode_t mode, const bwl_file_sharing *with);

/* ---- paths ----------------------------------------------------------------------------------- */

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
