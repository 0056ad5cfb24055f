/*
 * open.h -- opens or creates a file that the engine writes, and refuses files of others.
 *
 * Only a regular file is written that belongs to the user or is shared on purpose.  No symbolic
 * link is followed, a file with hard links is refused (another link could be other data), and in a
 * private directory the file must belong to the user.  The file is opened without O_CREAT first: in
 * a sticky directory the kernel may refuse to create a file that exists and belongs to another user
 * (fs.protected_regular).
 *
 * A user who may create files in a directory may lock in it.  So a new file gets the write
 * permissions of its directory on top of what the umask leaves, its group if the group may write,
 * and, if root creates it, its owner.
 *
 * Not promised: where the kernel lets other users make hard links to our files
 * (fs.protected_hardlinks = 0), an attacker in a shared directory can remove the other link in
 * time.  Therefore nothing is written before the content was found to be that of a lock file or
 * empty (owner_record.h).
 */
#pragma once

#include "core/status.h"

#include <sys/stat.h>
#include <sys/types.h>

/* An open file and its identity. */
typedef struct bwl_file {
    int   fd; /* -1: none                                                                       */
    dev_t device;
    ino_t inode;
} bwl_file;

/* The permissions of a directory: new files in it get the same. */
typedef struct bwl_file_sharing {
    mode_t mode;
    uid_t  owner;
    gid_t  group;
} bwl_file_sharing;

/* The file to open, and how. */
typedef struct bwl_file_target {
    int              at;    /* its directory                                                      */
    const char      *leaf;  /* its name there                                                     */
    const char      *shown; /* for messages: the path of the directory; "" if `path` has it       */
    const char      *path;  /* for messages: the whole path; NULL: shown and leaf                 */
    const char      *role;  /* for messages: ", which is ...", if the user did not name it; or "" */
    bwl_file_sharing sharing;
    bool             is_private; /* must belong to the user                            */
    bool             makes;      /* creates it if it is missing                        */
    bool             writes;     /* opens it for reading and writing, else for reading */
} bwl_file_target;

/* REFUSED, SYSTEM, NOMEM.  OK with fd -1 if it is missing and `makes` is not set. */
int bwl_file_open_checked(bwl_file *ret_file, const bwl_file_target *t, bwl_fault *fault);

/* Returns fd, or a copy of it if it is a standard descriptor (0 to 2): output of a child must not
 * go to a lock file.  Closes the original then.  -1 stays -1, with its errno. */
int bwl_file_above_standard(int fd);

/* Gives a new file or directory the permissions of `with`, and `mode` at least. */
void bwl_file_share(int fd, mode_t mode, const bwl_file_sharing *with);

/* Does nothing if it is not open.  The page cache keeps what was written, which is enough. */
void bwl_file_close(bwl_file *file);

bool bwl_file_is_this(const struct stat *st, const bwl_file *file);
