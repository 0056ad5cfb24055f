/*
 * open.h -- opening a file that we write, without being led astray.
 *
 * Nothing is written but a regular file that is ours or shared with us on purpose: no symbolic link
 * is followed to it, it has one name only (a hard link could be to somebody's data), in a private
 * directory it is the user's own.  It is opened without O_CREAT first: in a sticky directory the
 * kernel may refuse to "create" what is another user's already (fs.protected_regular).
 *
 * Whoever may make files in a directory may lock in it: a new file gets the write permissions of
 * its directory on top of what the umask leaves, its group if that may write, and, from root, its
 * owner.
 *
 * What it does not promise: in a directory that is shared with an enemy, where the kernel lets him
 * make hard links to files of ours (fs.protected_hardlinks = 0), the file may be one of those, its
 * other name removed just in time.  So nothing is written either before its content was found to be
 * that of a lock file, or none (record.h).
 */
#ifndef BWL_ENGINE_FILE_OPEN_H
#define BWL_ENGINE_FILE_OPEN_H

#include "core/status.h"

#include <sys/stat.h>
#include <sys/types.h>

/* A file that is open, and which it is. */
typedef struct bwl_file {
    int   fd; /* -1: none                                                                       */
    dev_t device;
    ino_t inode;
} bwl_file;

/* The directory of a file, as far as it says who may lock there. */
typedef struct bwl_file_sharing {
    mode_t mode;
    uid_t  owner;
    gid_t  group;
} bwl_file_sharing;

/* Where a file is, and what may be done there. */
typedef struct bwl_file_spot {
    int              at; /* a directory                                                          */
    const char      *leaf;
    const char      *shown; /* the path of that directory, for people; "" if `path` has it        */
    const char      *path;  /* the whole path, for people; NULL: shown and leaf say it            */
    const char      *role;  /* ", which is ...", for people who have not named it; or ""          */
    bwl_file_sharing sharing;
    bool             is_private; /* the user's own                                               */
    bool             makes;      /* if it is missing                                             */
    bool             writes;     /* else it is opened for reading only                           */
} bwl_file_spot;

/* REFUSED, SYSTEM, NOMEM; OK with fd -1 if it is missing and not to be made. */
int bwl_file_open_ours(bwl_file *ret_file, const bwl_file_spot *s, bwl_fault *fault);

/* The same descriptor, or a copy instead of it that is not standard input, output or error: what a
 * child writes there must not end in a lock file.  -1 stays -1, with its errno. */
int bwl_file_above_standard(int fd);

/* What was just made, a file or a directory, is for those who may make it here: with `mode` at
 * least. */
void bwl_file_share(int fd, mode_t mode, const bwl_file_sharing *with);

bool bwl_file_is_this(const struct stat *st, const bwl_file *file);

#endif
