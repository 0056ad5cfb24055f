/*
 * holder.h -- the holder of a lock file, for a query: it takes no lock and no ticket, and writes
 * nothing.
 *
 * The kernel reports the head of the queue (kernel_queue.h), and the owner record describes it if
 * it has the same ticket (owner_record.h).  Otherwise the head of the queue waits for a process
 * that holds the flock without a queue node, such as flock(1).
 *
 * The pid comes from the kernel: of the process that took the flock (/proc/locks), or if that has
 * ended, of one that has inherited it (/proc/PID/fdinfo, if readable).  It is 0 if unknown.  A
 * record that contradicts the kernel is only noted, because others may have written it.  The record
 * of another host is used as it is, on a network file system.
 *
 * Each of those that share the lock has a queue node, which tells its permits, and a record of its
 * own (the first 63).  A shared flock that no node explains is that of another program.
 */
#pragma once

#include "engine/engine.h"
#include "engine/file/lock_path.h"

/* The inodes of the files that are flocked, from /proc/locks; of any file system, so one may be
 * that of another file.  Free them. */
typedef struct bwl_file_flocks {
    ino_t *inodes;
    size_t count;
    bool   is_known; /* false: any file may be flocked */
} bwl_file_flocks;

void bwl_file_flocks_read(bwl_file_flocks *ret_flocks);
void bwl_file_flocks_free(bwl_file_flocks *flocks);

/* False: nobody holds or awaits the lock of this file.  It costs a few calls, and find_holder
 * more. */
bool bwl_file_may_be_held(const bwl_file *queue, const bwl_file_flocks *flocks);

/* The file with the queue, and the file that is flocked; fd -1: it is missing.  name_is_locked: the
 * name lock is held (lock_path.h).  Returns an array of those that share the lock, in the order of
 * the queue, of ret_holder->sharers; NULL: one holds it alone, or there is no memory.  Free it. */
bwl_holder *bwl_file_find_holder(const bwl_file *queue, const bwl_file *flocked,
                                 bool name_is_locked, bwl_holder *ret_holder);
