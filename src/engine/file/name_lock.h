/*
 * name_lock.h -- a lock on a name, held on the directory of its lock file.
 *
 * In a directory that users share, the owner of a lock file can remove it while another user holds
 * it.  The next process creates a new file of that name, and would hold the lock as well.
 * Therefore a holder in such a directory also locks one byte of the directory, at an offset that is
 * computed from the name.  Only the owner of the directory can replace the directory.
 *
 * A directory cannot be opened for writing, so only shared locks can be set on it.  To acquire a
 * name lock, a process looks for the lock of another, sets its own, and looks again.  If two do
 * that at the same time, both may fail; both never succeed.
 *
 * Not promised: flock(1) does not know of name locks.  A user who may read the directory can lock
 * any name in it, as a user who may write to it can hold any lock.  Two names share an offset once
 * in 2^62.
 */
#pragma once

#include "engine/file/kernel_queue.h"

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
