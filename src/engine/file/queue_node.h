/*
 * queue_node.h -- a lock of file: in the queue of its file, from the join to the release.
 *
 * It uses the kernel's file locks alone: there is no server process and no lease.  A lock ends with
 * the process that holds it, however that ends.
 *
 * A holder has two things, taken in this order:
 *
 *   1. the first node in the queue of a file that the engine writes (kernel_queue.h): it gives the
 *      order and the fence
 *   2. flock(2) on the file: it excludes flock(1) and other programs that lock so.  In a shared
 *      directory, the name lock goes with it (lock_path.h)
 *
 * It then writes its owner record into the file (owner_record.h).  A bare name has both on one file
 * of the lock directory.  A name that is a path has the flock on that file, and the queue in the
 * file beside it (lock_path.h).
 *
 *      join   the queue is empty: lock it, flock, done.  Otherwise enqueue, watch the file
 *             (watch.h), and try once, because the lock may have become free meanwhile
 *      try    at the head and the flock is free: the lock is ours if the name still leads to this
 *             file
 *      share  a request that shares the lock has a node that its kind passes (kernel_queue.h), and
 *             a shared flock, as that of flock -s.  All that hold the lock together have the fence
 *             of the first, which began their period.  A request with a limit fits if the permits
 *             of the nodes in front leave enough
 *      leave  unlocks both explicitly, because a child may still have the file open; if others are
 *             in the queue, touches the file, which wakes them even then
 *
 * A waiter that is stopped in its turn (by SIGSTOP, a debugger, a frozen container) delays only
 * itself: the others overtake it.  They do so when no ticket has held the lock for
 * OVERTAKE_AFTER_MS, and the flock was then found free OVERTAKE_CHECKS times for each node in
 * front, OVERTAKE_CHECK_MS apart.  That is safe, because the flock excludes.  The fence still
 * grows, because tickets below the last granted one are void: the waiter that was overtaken joins
 * again when it continues.  A share overtakes with an exclusive flock, too: others that share the
 * lock are no reason to pass a waiter that they keep waiting.
 *
 * After a fork the child has the files open as well, and so keeps the lock when the parent dies
 * without a release; bowline_hold_inherit_fds is for that.  A child that frees an inherited client
 * closes the files and unlocks nothing, because that would release the parent's lock.
 *
 * Not promised: a holder that is stopped keeps the lock until it continues or ends.  If a lock file
 * is removed while it is held, in a directory that is not shared, the next process takes a new file
 * (in a shared one: lock_path.h).  Two paths of one file by a bind mount exclude each other, but
 * each has its own queue and fence.  A network file system is as good as its locks.  And as always
 * with file locks by name: when the library closes a file, the record locks (fcntl, lockf) of this
 * process on it are gone.  There is no order among users of flock(1), or between them and bowline.
 * Permits count holds of bowline, and not flock -s.
 * A process that is stopped in the microseconds in which it holds the latch keeps others from
 * joining.
 */
#pragma once

#include "engine/engine.h"
#include "engine/file/lock_path.h"
#include "engine/file/store.h"

/* The engine's part of a lock. */
typedef struct bwl_file_node {
    bwl_engine_lock *lock;
    bwl_file_store  *store;
    bwl_file_path    path;
    bwl_file_place   place;
    uint32_t         limit; /* of permits; 0: none */
    bool             may_wait;
    bool             queued;
    bool             flocked;
    bool             name_locked;
    uint64_t         fence;          /* of a holder                                            */
    unsigned         record;         /* of a holder: the number of its record                  */
    uint64_t         wakeup;         /* of a waiter: LOCAL_WILL_PUSH or LOCAL_WILL_NOT         */
    uint64_t         idle_ticket;    /* the ticket granted last, whose node is gone ...        */
    bwl_ms           idle_since;     /* ... since this check at the latest; 0: its node exists */
    unsigned         free_checks;    /* how often the flock was free since then                */
    bwl_ms           free_at;        /* when it was last found free                            */
    bool             flock_was_busy; /* at the last check; one extra check follows soon        */
    bwl_holder      *holders;        /* of a holder query: those that share the lock, or NULL  */
    size_t           holders_count;
    bwl_file_waiter  queue_waiter;
    bwl_file_waiter  named_waiter;
} bwl_file_node;

/* The commands of protocol/store/local.h. */
bwl_answer bwl_file_node_join(bwl_file_node *n, bool may_wait, uint64_t *ret_number);
bwl_answer bwl_file_node_try(bwl_file_node *n, uint64_t *ret_number);
void       bwl_file_node_leave(bwl_file_node *n);
