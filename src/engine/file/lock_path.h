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
 * Which files are trusted: open.h and directory.h.  Paths are resolved as in resolve.h; the file
 * beside a named file must not be a link.
 */
#pragma once

#include "engine/file/directory.h"
#include "engine/file/open.h"
#include "engine/file/kernel_queue.h"

/* A lock on a name, held on the directory of its lock file.
 *
 * In a directory that users share, the owner of a lock file can remove it while another user holds
 * it.  The next process creates a new file of that name, and would hold the lock as well.
 * Therefore a holder in such a directory also locks one byte of the directory, at an offset that is
 * computed from the name.  Only the owner of the directory can replace the directory.
 *
 * A directory cannot be opened for writing, so only shared locks can be set on it.  To acquire a
 * name lock, a process checks for the lock of another, sets its own, and checks again.  If two do
 * that at the same time, both may fail; both never succeed.
 *
 * Not promised: flock(1) does not know of name locks.  A user who may read the directory can lock
 * any name in it, as a user who may write to it can hold any lock.  Two names share an offset once
 * in 2^62. */

/* The byte of one name in one directory.  While it is not open, every call below succeeds. */
typedef struct bwl_file_name_lock {
    int   fd; /* 0: not open */
    off_t at;
} bwl_file_name_lock;

/* Opens the directory again, for reading: `directory` may be an O_PATH descriptor.  0 or an
 * errno. */
int bwl_file_name_lock_open(bwl_file_name_lock *ret_lock, int directory, const char *name);

/* FREE: locked now, until it is released or the last copy of the descriptor is closed.  BUSY:
 * another process has it, or may have set it at the same time. */
bwl_file_lock_state bwl_file_name_lock_acquire(const bwl_file_name_lock *lock);

/* Releases it also where a child has a copy of the descriptor.  Does nothing if it is not held. */
void bwl_file_name_lock_release(const bwl_file_name_lock *lock);

/* BUSY: another process has it. */
bwl_file_lock_state bwl_file_name_lock_test(const bwl_file_name_lock *lock);

/* Closes the descriptor, without a release. */
void bwl_file_name_lock_close(bwl_file_name_lock *lock);

enum {
    BWL_FILE_PIECE_MAX = 200,                    /* bytes of an encoding in one directory entry */
    BWL_FILE_LEAF_MAX  = BWL_FILE_PIECE_MAX + 1, /* with its "+"                                */
};

/* True for a name that is a path. */
bool bwl_file_is_path(const char *name);

/* The files of one name. */
typedef struct bwl_file_path {
    const bwl_file_directory *directory; /* of bare names                                       */
    const char               *name;
    size_t                    name_size;
    char                     *path;  /* a name that is a path, made absolute; NULL: a bare name */
    char                     *queue; /* the path of the file beside it; NULL: not known yet     */
    bwl_file_name_lock name_lock; /* open while the files are, in a shared directory             */
} bwl_file_path;

/* Opens nothing.  `name` must live as long as the path.  Free with bwl_file_path_free.  SYSTEM,
 * USAGE, NOMEM. */
int  bwl_file_path_init(bwl_file_path *p, const bwl_file_directory *directory, const char *name,
                        size_t name_size, bwl_fault *fault);
void bwl_file_path_free(bwl_file_path *p);

/* Opens the queue file, which the engine writes, and the named file of a path (else its fd is -1).
 * Creates them if they are missing.  Opens the name lock if the directory is shared, local and
 * readable.  REFUSED, SYSTEM, NOMEM. */
int bwl_file_path_open(bwl_file_path *p, bwl_file *ret_queue, bwl_file *ret_named,
                       bwl_fault *fault);

/* Opens them for a query: creates and locks nothing.  fd -1: the file is missing. */
int bwl_file_path_peek(bwl_file_path *p, bwl_file *ret_queue, bwl_file *ret_named,
                       bwl_fault *fault);

/* Checks whether the name still leads to these files.  REFUSED, SYSTEM, NOMEM: a call failed, so
 * the answer is not known. */
int bwl_file_path_check(const bwl_file_path *p, const bwl_file *queue, const bwl_file *named,
                        bool *ret_are_current, bwl_fault *fault);

/* True if a process holds the name lock. */
bool bwl_file_path_is_name_locked(const bwl_file_path *p);

/* Writes the path of the queue file for messages, cut if it is long. */
enum { BWL_FILE_SHOWN_MAX = 140 };
void bwl_file_path_show(const bwl_file_path *p, char ret_text[BWL_FILE_SHOWN_MAX]);

/* Writes the encoding: directory entries with a "/" between them.  It always fits. */
enum { BWL_FILE_ENCODING_MAX = 3 * BWL_NAME_MAX + 16 };
void bwl_file_encode(char ret_path[BWL_FILE_ENCODING_MAX], const char *name, size_t size);
