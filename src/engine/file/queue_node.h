/*
 * queue_node.h -- one lock in the queue of its file: join, try, leave.
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
 *      leave  unlocks both explicitly, because a child may still have the file open; if others are
 *             in the queue, touches the file, which wakes them even then
 *
 * A waiter that is stopped in its turn (by SIGSTOP, a debugger, a frozen container) delays only
 * itself: the others overtake it.  They do so when no ticket has held the lock for
 * BWL_FILE_OVERTAKE_AFTER_MS, and the flock was then found free BWL_FILE_OVERTAKE_CHECKS times for
 * each node in front, BWL_FILE_OVERTAKE_CHECK_MS apart.  That is safe, because the flock excludes.
 * The fence still grows, because tickets below the last granted one are void: the waiter that was
 * overtaken joins again when it continues.
 *
 * Not promised: an order among users of flock(1), or between them and bowline.  A process that is
 * stopped in the microseconds in which it holds the latch keeps others from joining.
 */
#pragma once

#include "engine/file/lock_path.h"
#include "engine/file/owner_record.h"
#include "engine/file/watch.h"

enum {
    BWL_FILE_OVERTAKE_AFTER_MS = 1000,
    BWL_FILE_OVERTAKE_CHECKS   = 4,
    BWL_FILE_OVERTAKE_CHECK_MS = 250,
};

typedef struct bwl_file_store { /* of one client */
    bwl_file_directory directory;
    const char        *parent; /* of the default directory; NULL: the URL names one              */
    bwl_file_watcher   watcher;
    bwl_file_identity  self;
} bwl_file_store;

typedef struct bwl_file_node {
    bwl_engine_lock *lock;
    bwl_file_store  *store;
    bwl_file_path    path;
    bwl_file         queue; /* fd -1: not open                                       */
    bwl_file         named; /* the file of a name that is a path; fd -1: a bare name */
    bool             may_wait;
    bool             queued;
    bool             flocked;
    bool             name_locked;
    uint64_t         ticket;
    uint64_t         wakeup;         /* of a waiter: LOCAL_WILL_PUSH or LOCAL_WILL_NOT         */
    uint64_t         idle_ticket;    /* the ticket granted last, whose node is gone ...        */
    bwl_ms           idle_since;     /* ... since this check at the latest; 0: its node exists */
    unsigned         free_checks;    /* how often the flock was free since then                */
    bwl_ms           free_at;        /* when it was last found free                            */
    bool             flock_was_busy; /* at the last check; one extra check follows soon        */
    bwl_file_waiter  queue_waiter;
    bwl_file_waiter  named_waiter;
} bwl_file_node;

/* Opens nothing.  USAGE, SYSTEM, NOMEM. */
int bwl_file_node_init(bwl_file_node *n, bwl_engine_lock *lock, bwl_file_store *store,
                       bwl_fault *fault);

/* In a forked child, where the locks and watches are the parent's, only closes. */
void bwl_file_node_free(bwl_file_node *n);

/* The commands of protocol/store/local.h: YES writes the fence, NO how the waiter is woken. */
bwl_answer bwl_file_node_join(bwl_file_node *n, bool may_wait, uint64_t *ret_number);
bwl_answer bwl_file_node_try(bwl_file_node *n, uint64_t *ret_number);
void       bwl_file_node_leave(bwl_file_node *n);

/* Opens the lock directory unless it is open: the one that the URL names (its path is in
 * directory.path) or the default one, which is created if `make` is set; if not, it may be missing,
 * with OK. */
int bwl_file_store_open(bwl_file_store *store, bool make, bwl_fault *fault);
