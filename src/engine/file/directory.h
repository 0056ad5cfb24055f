/*
 * directory.h -- the lock directory: where the files of bare names are.
 *
 * That of `file:` is /run/lock/bowline-UID: it depends on the effective user alone, so that cron
 * and a login shell find the same locks.  It is made when it is missing, and belongs to the user
 * alone.
 *
 * A directory that is named must exist, and may be shared between users: mode 2775 for a group,
 * 1777 for all.  One in which strangers can replace files is refused: writable by all, and not
 * sticky.  The path to it is followed as walk.h says; its last entry may be no link.
 */
#ifndef BWL_ENGINE_FILE_DIRECTORY_H
#define BWL_ENGINE_FILE_DIRECTORY_H

#include "engine/file/open.h"

enum { BWL_FILE_PATH_MAX = 4096 };

/* Where bare names live. */
typedef struct bwl_file_directory {
    int  fd;         /* -1: not opened yet                                                     */
    bool is_private; /* ours alone: anything in it that is not is refused                     */
    bool is_remote;  /* on a file system whose locks and events are not those of this kernel   */
    bwl_file_sharing sharing;
    char             path[BWL_FILE_PATH_MAX];
} bwl_file_directory;

/* Opens a directory that was named.  REFUSED, SYSTEM. */
int bwl_file_directory_open(bwl_file_directory *directory, const char *path, bwl_fault *fault);

/* Opens `parent`/bowline-UID.  If it is missing it is made, or, if that is not wanted, the fd
 * stays -1.  REFUSED, SYSTEM. */
int bwl_file_directory_open_own(bwl_file_directory *directory, const char *parent, bool make,
                                bwl_fault *fault);

void bwl_file_directory_close(bwl_file_directory *directory);

/* Somebody has removed it: there may be another one now. */
bool bwl_file_directory_is_gone(const bwl_file_directory *directory);

/* True where others than this kernel may have a part in locks: then files are polled, not
 * watched. */
bool bwl_file_is_remote(int fd);

/* For the directories in it.  -1: errno says why, and no_directory says it to people. */
int bwl_file_open_directory(int at, const char *path);
int bwl_file_no_directory(const char *path, bwl_fault *fault);

#endif
