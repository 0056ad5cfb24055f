/*
 * mark.h -- a lock on a name, held on the directory of its lock file.
 *
 * In a directory that users share, the owner of a lock file can remove it while another user holds
 * it.  The next process makes a new file of that name, and would hold the lock as well.  Therefore
 * a holder in such a directory also has a mark: one byte of the directory, locked by the kernel, at
 * an offset that is computed from the name.  Nobody but its owner can replace the directory.
 *
 * A directory cannot be opened for writing, so only shared locks can be had on it.  To take a mark,
 * one looks for the mark of another, sets one's own, and looks again.  When two do that at the same
 * time, both may fail; both never succeed.
 *
 * Not promised: flock(1) does not know of marks.  Whoever may read the directory can mark any name
 * in it, as whoever may write in it can hold any lock.  Two names share an offset once in 2^62.
 */
#ifndef BWL_ENGINE_FILE_MARK_H
#define BWL_ENGINE_FILE_MARK_H

#include "engine/file/ticket.h"

/* The byte of one name, in one directory.  Where it is not open, everybody gets it. */
typedef struct bwl_file_mark {
    int   fd; /* 0: not open */
    off_t at;
} bwl_file_mark;

/* Opens the directory anew, for reading: its descriptor may be O_PATH.  0, or an errno. */
int bwl_file_mark_open(bwl_file_mark *ret_mark, int directory, const char *name);

/* OURS: it is ours until it is given back, or the last copy of the descriptor is closed.  OTHERS:
 * somebody else has it, or may have taken it at the same time. */
bwl_file_luck bwl_file_mark_take(const bwl_file_mark *mark);

/* Gives it back, also where a child still has the descriptor.  Nothing, if it was not taken. */
void bwl_file_mark_give(const bwl_file_mark *mark);

/* OTHERS: somebody else has it. */
bwl_file_luck bwl_file_mark_look(const bwl_file_mark *mark);

/* Only closes. */
void bwl_file_mark_close(bwl_file_mark *mark);

#endif
