/*
 * holder.h -- the holder of a lock file, for a query: nothing is locked, drawn or written.
 *
 * The kernel tells who is first in the queue (kernel_queue.h), and the owner record describes it if
 * it has the same ticket (owner_record.h).  If it has not, the head of the queue waits for a
 * process that holds the flock without a queue node, such as flock(1).
 *
 * The pid comes from the kernel: of the process that took the flock (/proc/locks), or if that has
 * ended, of one that has inherited it (/proc/PID/fdinfo, as far as it is readable).  It is 0 if the
 * kernel does not tell.  A record that contradicts the kernel is only noted, because others may
 * have written it.  The record of another host is used as it is, on a network file system.
 */
#pragma once

#include "engine/engine.h"
#include "engine/file/open.h"

/* The file with the queue, and the file that is flocked; fd -1: it is missing. */
void bwl_file_find_holder(const bwl_file *queue, const bwl_file *flocked, bwl_holder *ret_holder);

/* The files have no holder, but the name lock is held (name_lock.h). */
void bwl_file_holder_by_name(bwl_holder *ret_holder);
