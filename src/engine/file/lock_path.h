/*
 * lock_path.h -- the files of a lock name, and how they are opened.
 *
 * A NAME that begins with "/", "./" or "../" is the path of a file, as for flock(1): that file is
 * opened and locked, never written.  The queue is in NAME.bowline beside it, after all symbolic
 * links are resolved.  A file with hard links is refused, because each link would have a queue.
 *
 * Any other NAME is a bare name: one file in the lock directory.  Its encoding is unique: bytes
 * other than A-Z a-z 0-9 - _ . ~ become %XX, and so does a dot at the start.  An encoding of more
 * than 200 bytes is split into directories: "first 200+/next 200+/rest".  No encoding contains "+".
 *
 * Paths are resolved as in directory.h; the file beside a named file must not be a link.
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

#include "engine/file/directory.h"
#include "engine/file/kernel_queue.h"

/* An open file and its identity. */
typedef struct bwl_file {
    int   fd; /* -1: none                                                                       */
    dev_t device;
    ino_t inode;
} bwl_file;

enum {
    BWL_FILE_PIECE_MAX = 200,                    /* bytes of an encoding in one directory entry */
    BWL_FILE_LEAF_MAX  = BWL_FILE_PIECE_MAX + 1, /* with its "+"                                */
};

/* The files of one name. */
typedef struct bwl_file_path {
    const bwl_file_directory *directory; /* of bare names                                       */
    const char               *name;
    size_t                    name_size;
    char                     *path; /* a name that is a path, made absolute; NULL: a bare name   */
    char              *queue_path;  /* of the file beside it; NULL: not open                     */
    bwl_file           queue;       /* the engine writes it; fd -1: not open                     */
    bwl_file           named;       /* the file of a path; fd -1: not open, or a bare name       */
    bwl_file_name_lock name_lock;   /* open with the files, in a shared directory                */
} bwl_file_path;

/* Opens nothing.  `name` must live as long as the path.  Free with bwl_file_path_free.  SYSTEM,
 * USAGE, NOMEM. */
int  bwl_file_path_init(bwl_file_path *p, const bwl_file_directory *directory, const char *name,
                        size_t name_size, bwl_fault *fault);
void bwl_file_path_free(bwl_file_path *p);

/* Opens the files, and the name lock if the directory is shared, local and readable.  With
 * `writes`, creates what is missing; otherwise, for a query, creates and locks nothing, and a file
 * that is missing stays closed.  REFUSED, SYSTEM, NOMEM. */
int  bwl_file_path_open(bwl_file_path *p, bool writes, bwl_fault *fault);
void bwl_file_path_close(bwl_file_path *p);

/* Checks whether the name still leads to these files.  REFUSED, SYSTEM, NOMEM: a call failed, so
 * the answer is not known. */
int bwl_file_path_check(const bwl_file_path *p, bool *ret_are_current, bwl_fault *fault);

/* Writes the path of the queue file for messages, cut if it is long. */
enum { BWL_FILE_SHOWN_MAX = 140 };
void bwl_file_path_show(const bwl_file_path *p, char ret_text[BWL_FILE_SHOWN_MAX]);

/* Writes the encoding: directory entries with a "/" between them.  It always fits. */
enum { BWL_FILE_ENCODING_MAX = 3 * BWL_NAME_MAX + 16 };
void bwl_file_encode(char ret_path[BWL_FILE_ENCODING_MAX], const char *name, size_t size);
