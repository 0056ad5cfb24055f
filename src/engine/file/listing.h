/*
 * listing.h -- the held names of the lock directory (bwl_engine.list).
 *
 * Lock files stay when their lock is free, so most of them are not held.  A step asks the kernel
 * once for the files that are flocked (/proc/locks), and looks for the holder of a file only if
 * that has it, or if the queue of the file or the lock on its name is not empty.
 *
 * Not promised: the files that this user cannot open; a foreign flock that /proc/locks does not
 * show, because its process has ended and a child in another pid namespace has inherited it.
 */
#pragma once

#include "engine/engine.h"

bool bwl_file_list(bwl_engine_lock *lock);

/* Frees what is left of a list; also without one. */
void bwl_file_list_end(bwl_engine_lock *lock);
