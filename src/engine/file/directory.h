/*
 * directory.h -- the lock directory: the directory of the lock files of bare names.
 *
 * The default directory, that of the URL `file:`, is /run/lock/bowline-UID.  It depends on the
 * effective user alone, so a cron job and a login shell of one user find the same locks.  It is
 * created when it is missing, and is private to the user.
 *
 * A directory that the URL names must exist, and may be shared between users: mode 2775 for a
 * group, 1777 for everybody.  A directory that is writable by everybody and not sticky is refused,
 * because any user can replace files in it.  The path to it is resolved as in resolve.h; its last
 * entry must not be a link.
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
