/*
 * kernel_queue.h -- the queue of a lock file, kept by the kernel as file locks.
 *
 * Each waiter and the holder have a queue node: a write lock on one byte of the file, beyond its
 * end (OFD locks, which belong to the open file; Linux 3.15):
 *
 *      QUEUE - 1    a read lock of each that shares the lock now
 *      QUEUE + n    the node of ticket n; tickets only grow
 *      LATCH ...    everything from there on: held for microseconds, to draw a ticket, or to grant
 *                   a shared hold
 *
 * A waiter is at the head of the queue when there is no node between the ticket that was granted
 * last and its own.  The kernel removes the nodes of a dead process when it closes its files, so
 * nothing has to be repaired.  Nodes below the last granted ticket belong to waiters that were
 * stopped at the head of the queue and were overtaken (queue_node.h).
 *
 * A request for w permits draws w tickets in a row: its node has a byte for each, and the name of
 * the last.  The node of a request that shares the lock is a *read* lock, so one call finds whether
 * an exclusive request is in front (a write lock).  A request with a limit has a write lock until
 * it is granted, because others must not pass it while it does not fit.  A bowline that does not
 * know of shared holds sees each node as one that it has to wait for.
 *
 * The fast path: one lock over QUEUE ... and LATCH, tried once, succeeds only if no process holds,
 * waits or joins.  It is then reduced to QUEUE ... QUEUE + n, which serves as the node of ticket n,
 * because no node is in front of it.  (That of a share is reduced to its own bytes: they count.)
 *
 * No call blocks: a process that is stopped while it holds the latch must not stop others.
 *
 * Not promised: a user who may write to the file can set any node and keep it.  Permits are counted
 * in one file: those in use by a file that was removed do not count.
 */
#pragma once

#include "core/core.h"

#include <sys/types.h>

/* Tickets are microseconds since 1970 or a little more: this is the year 146000. */
#define BWL_FILE_TICKET_MAX ((UINT64_C(1) << 62) - (UINT64_C(1) << 40) - 1)

typedef enum bwl_file_lock_state {
    BWL_FILE_FREE = 1, /* no other process holds it; after a call that locks: we do */
    BWL_FILE_BUSY,     /* another process holds it                                  */
    BWL_FILE_FAILED,   /* errno is set                                              */
} bwl_file_lock_state;

/* Locks the whole queue.  FREE: no process holds, waits or joins, nor can before keep or leave. */
bwl_file_lock_state bwl_file_queue_lock_empty(int fd);

/* Of a locked queue, keeps the node of this ticket, so that others can join behind it. */
bwl_file_lock_state bwl_file_queue_keep(int fd, uint64_t ticket);

/* A place in the queue. */
typedef struct bwl_file_place {
    uint64_t ticket;
    uint32_t weight; /* how many permits; 0: it is exclusive */
} bwl_file_place;

/* Likewise, and unlocks what is below the node, for a caller that has to wait or shares. */
bwl_file_lock_state bwl_file_queue_keep_only(int fd, bwl_file_place place);

/* Makes the node of this place a read lock, of one that waits ... */
bwl_file_lock_state bwl_file_queue_share(int fd, bwl_file_place place);

/* ... and of one that shares the lock from now on, with the latch or the whole queue locked. */
bwl_file_lock_state bwl_file_queue_hold_share(int fd, bwl_file_place place);

/* BUSY: others share the lock. */
bwl_file_lock_state bwl_file_queue_test_shares(int fd);

/* BUSY: another process held the latch at every attempt. */
bwl_file_lock_state bwl_file_queue_latch(int fd);
bwl_file_lock_state bwl_file_queue_unlatch(int fd);

/* With the latch: sets the node of this place, a write lock.  If its tickets are in use, which
 * happens when the counter in the file was put back, raises place->ticket above them.  FAILED with
 * EOVERFLOW: there is no ticket above. */
bwl_file_lock_state bwl_file_queue_enqueue(int fd, bwl_file_place *place);

/* FREE: no other node is at or above the ticket granted last and below this one, so this ticket is
 * at the head. */
bwl_file_lock_state bwl_file_queue_test_head(int fd, uint64_t granted, uint64_t ticket);

/* FREE: there is no write lock among them: no exclusive request, and none that waits for permits.
 */
bwl_file_lock_state bwl_file_queue_test_shared(int fd, uint64_t granted, uint64_t ticket);

/* FREE: no process has the node of this ticket. */
bwl_file_lock_state bwl_file_queue_test_node(int fd, uint64_t ticket);

/* FREE: with those of the shares in front of this place, its permits are at most `limit`. */
bwl_file_lock_state bwl_file_queue_test_permits(int fd, bwl_file_place place, uint32_t limit);

/* The number of nodes between these tickets, at most max. */
unsigned bwl_file_queue_count(int fd, uint64_t granted, uint64_t ticket, unsigned max);

/* FREE: there is no node from this ticket on, and no process joins. */
bwl_file_lock_state bwl_file_queue_test_from(int fd, uint64_t granted);

/* True: a request that shares would have to wait for a node from this ticket on.  False also while
 * a process joins. */
bool bwl_file_queue_is_closed(int fd, uint64_t granted);

/* Unlocks everything, also where a child has the file open.  True: others are in the queue. */
bool bwl_file_queue_leave(int fd);

typedef enum bwl_file_head_kind {
    BWL_FILE_NOBODY = 1,
    BWL_FILE_TICKET,  /* a queue node */
    BWL_FILE_JOINING, /* a process that has no ticket yet */
    BWL_FILE_FOREIGN, /* a fcntl lock on bytes of the file itself */
} bwl_file_head_kind;

typedef struct bwl_file_queue_first {
    bwl_file_head_kind kind;
    uint64_t           ticket; /* of TICKET                         */
    uint32_t           weight; /* of TICKET, a share; 0: write lock */
    pid_t              pid;    /* of FOREIGN; 0 or less: unknown    */
} bwl_file_queue_first;

/* The first in the queue from this ticket on.  Locks nothing; the file may be open for reading
 * only. */
bwl_file_queue_first bwl_file_queue_head(int fd, uint64_t granted);

/* A lock on a name, held on the directory of its lock file.
 *
 * In a directory that users share, the owner of a lock file can remove it while another user holds
 * it.  The next process creates a new file of that name, and would hold the lock as well.
 * Therefore a holder in such a directory also locks bytes of the directory, at an offset that is
 * computed from the name.  Only the owner of the directory can replace the directory.
 *
 *      exclusive   the byte at the offset and the next one (an older bowline: only the first)
 *      shared      the byte at the offset and the one before it
 *
 * A directory cannot be opened for writing, so only read locks can be set on it.  To acquire a
 * name lock, a process checks for a lock that excludes its own, sets its own, and checks again.  If
 * two do that at the same time, both may fail; both never succeed.  An exclusive request checks the
 * first byte.  A shared one checks the next byte, and whether a lock begins at the first one.
 *
 * Not promised: flock(1) does not know of name locks.  A user who may read the directory can lock
 * any name in it, as a user who may write to it can hold any lock.  Two names share an offset once
 * in 2^62. */

/* The byte of one name in one directory.  While it is not open, every call below succeeds. */
typedef struct bwl_file_name_lock {
    int   fd; /* of the directory, open for reading; 0: not open */
    off_t at;
} bwl_file_name_lock;

/* FREE: locked now, until it is released or the last copy of the descriptor is closed.  BUSY:
 * another process has it, or may have set it at the same time. */
bwl_file_lock_state bwl_file_name_lock_acquire(const bwl_file_name_lock *lock, bool shares);

/* Releases it also where a child has a copy of the descriptor.  Does nothing if it is not held. */
void bwl_file_name_lock_release(const bwl_file_name_lock *lock);

/* BUSY: another process has it. */
bwl_file_lock_state bwl_file_name_lock_test(const bwl_file_name_lock *lock);

/* Closes the descriptor, without a release. */
void bwl_file_name_lock_close(bwl_file_name_lock *lock);
