/*
 * place.h -- which files a name stands for, and opening them safely.
 *
 * A NAME that begins with "/", "./" or "../" is that very file, as flock(1) would take it: it is
 * only opened and locked, never written.  What we have to write lives beside it, in NAME.bowline,
 * wherever symbolic links lead.  A file with several names (hard links) is refused: it would have
 * several queues.
 *
 * Any other NAME is an entry of the lock directory, in an encoding that no two names share: the
 * bytes that are not A-Z a-z 0-9 - _ . ~ become %XX, and so does a dot at the start.  More than 200
 * bytes of that are split: "first 200+/next 200+/rest".  No encoding has a "+" in it.
 *
 * Trust: see open.h and directory.h.  A path that was named is followed as walk.h
 * says; what lies beside it may be no link at all.
 */
#ifndef BWL_ENGINE_FILE_PLACE_H
#define BWL_ENGINE_FILE_PLACE_H

#include "engine/file/directory.h"
#include "engine/file/mark.h"
#include "engine/file/open.h"

enum {
    BWL_FILE_PIECE_MAX = 200,                    /* bytes of an encoding in one directory entry  */
    BWL_FILE_LEAF_MAX  = BWL_FILE_PIECE_MAX + 1, /* with its "+"                                 */
};

/* True for a name that is a path. */
bool bwl_file_is_path(const char *name);

/* The files of one name. */
typedef struct bwl_file_place {
    const bwl_file_directory *directory; /* bare names                                          */
    const char               *name;
    size_t                    name_size;
    char                     *path; /* a name that is a path, made absolute; NULL: a bare name   */
    char                     *side; /* of the file beside it; NULL: not known yet                */
    bwl_file_mark             mark; /* while the files are open, where others could remove them  */
} bwl_file_place;

/* Nothing is opened.  `name` must live as long as the place.  Free with bwl_file_place_free.
 * SYSTEM, USAGE, NOMEM. */
int  bwl_file_place_init(bwl_file_place *place, const bwl_file_directory *directory,
                         const char *name, size_t name_size, bwl_fault *fault);
void bwl_file_place_free(bwl_file_place *place);

/* Opens the file that is ours to write: it has the queue.  And the one that was named, if one was
 * (else its fd is -1).  Makes them if they are missing.  Opens the mark (mark.h) if the
 * directory is shared, local, and may be read.  REFUSED, SYSTEM, NOMEM. */
int bwl_file_place_open(bwl_file_place *place, bwl_file *ret_queue, bwl_file *ret_named,
                        bwl_fault *fault);

/* The same without making or locking anything: for looking only.  fd -1: the file is missing. */
int bwl_file_place_peek(bwl_file_place *place, bwl_file *ret_queue, bwl_file *ret_named,
                        bwl_fault *fault);

/* True if the name still leads to these files. */
bool bwl_file_place_is_still(const bwl_file_place *place, const bwl_file *queue,
                             const bwl_file *named);

/* True if somebody holds the name by its mark. */
bool bwl_file_place_is_marked(const bwl_file_place *place);

/* The path of the file that is ours to write, for people: cut if it is long. */
enum { BWL_FILE_SHOWN_MAX = 140 };
void bwl_file_place_show(const bwl_file_place *place, char ret_text[BWL_FILE_SHOWN_MAX]);

/* Writes the encoding: pieces with a "/" between them.  It always fits. */
enum { BWL_FILE_ENCODING_MAX = 3 * BWL_NAME_MAX + 16 };
void bwl_file_encode(char ret_path[BWL_FILE_ENCODING_MAX], const char *name, size_t size);

#endif
