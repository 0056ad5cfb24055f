/*
 * loop.h -- the event loop of one shard, the threads that share it, and its renewal thread.
 *
 * One thread at a time runs the loop: it waits for events and dispatches them for every thread of
 * the shard.  The other threads inside a blocking call sleep until their own operation has
 * completed or no thread runs the loop any more.  Usually no thread switch is needed.
 *
 * The renewal thread runs the loop while no caller does, so that leases are renewed while the
 * program works.  It sleeps until its own work is due, not until the next event, so a caller can
 * run the loop at once, without a thread switch.  It calls no function of the user and blocks every
 * signal.
 *
 * Calls go down only, to wakeup.h.  A timer calls its own `expired` function, an I/O
 * source its own `ready` function.  The loop does not know locks: when the renewal thread has work
 * is computed by a function of its owner.
 *
 * Locking: loop->mutex guards the loop and everything else in its shard.  "locked" in a comment
 * means that the caller holds it.  It is released while a thread waits for events.
 */
#pragma once

#include "engine/engine.h"

#include <pthread.h>

struct bwl_wakeup;

/* A timer is embedded in its owner, which its `expired` function computes from it.  The binary heap
 * of timers holds pointers only. */
typedef struct bwl_timer {
    bwl_ms at;                           /* BWL_NEVER: not set */
    void (*expired)(struct bwl_timer *); /* called by the loop; the timer is already cleared */
    size_t index;                        /* in the heap, from 1; 0: not in it */
} bwl_timer;

typedef struct bwl_timers {
    bwl_timer **heap;
    size_t      count;
    size_t      capacity;
} bwl_timers;

/* Makes room for `count` timers, so that setting one cannot fail.  False: out of memory. */
bool bwl_timers_reserve(bwl_timers *timers, size_t count);
void bwl_timers_free(bwl_timers *timers);

/* Sets, moves or (BWL_NEVER) clears a timer.  Needs room: see reserve. */
void bwl_timers_set(bwl_timers *timers, bwl_timer *timer, bwl_ms at);

/* When the next timer is due; BWL_NEVER: none is set. */
bwl_ms bwl_timers_next(const bwl_timers *timers);

/* Removes the earliest timer that is due at `now`.  NULL: none is due. */
bwl_timer *bwl_timers_take_due(bwl_timers *timers, bwl_ms now);

/* A thread inside a blocking call while another thread runs the loop.  It is freed only with the
 * loop: a thread is signalled without the mutex, when it may already have woken. */
typedef struct bwl_waiting_thread {
    pthread_cond_t             cond;
    struct bwl_waiting_thread *next;           /* in a ring, the longest waiting first  */
    struct bwl_waiting_thread *previous;       /* of the first: the last                */
    struct bwl_waiting_thread *beside;         /* waits for the same completion         */
    struct bwl_waiting_thread *next_to_signal; /* once the mutex is released            */
    bool                       is_signalled;   /* or about to be, and has not run since */
} bwl_waiting_thread;

/* What a thread waits for. */
typedef struct bwl_completion {
    bwl_outcome_kind    result;  /* BWL_PENDING: not completed */
    bwl_waiting_thread *waiting; /* linked by `beside` */
} bwl_completion;

/* locked: when the renewal thread has to run the loop itself; BWL_NEVER: not now. */
typedef bwl_ms bwl_renewal_due(void *arg);

typedef struct bwl_renewal_thread {
    bwl_renewal_due *due;
    void            *due_arg;
    pthread_t        thread;
    pthread_cond_t   cond;
    bwl_ms           sleeps_until;
    bool             runs;
    bool             stops;
    bool             is_notified; /* `cond` is signalled once the mutex is released */
} bwl_renewal_thread;

typedef struct bwl_loop {
    bwl_host           *host;
    pthread_mutex_t     mutex;
    bwl_timers          timers;
    bwl_timer           engine_timer;
    bool                is_running;  /* a thread waits for events */
    bwl_ms              last_run_at; /* when a thread last ran the loop */
    bwl_ms              runs_until;
    unsigned            dispatchers; /* threads inside bowline_dispatch */
    bwl_waiting_thread *waiting_threads;
    bwl_waiting_thread *idle_threads; /* to be reused */
    bwl_waiting_thread *to_signal;    /* to be signalled without the mutex */
    bwl_renewal_thread  renewal;
    struct bwl_wakeup  *wakeup; /* NULL: no caller needs a descriptor */
} bwl_loop;

/* False: out of memory. */
bool bwl_loop_init(bwl_loop *loop, bwl_host *host);

/* No thread may be inside.  `is_ours`: false in a forked child, where the mutex and the conditions
 * may be in use by threads that do not exist. */
void bwl_loop_free(bwl_loop *loop, bool is_ours);

void bwl_loop_lock(bwl_loop *loop);
void bwl_loop_unlock(bwl_loop *loop);

/* locked: reads the clock, which never goes back; also stores it in host->latest. */
bwl_ms bwl_loop_now(bwl_loop *loop);

/* Sets a timer.  Wakes the thread that runs the loop, or notifies the caller's event loop, if
 * either would sleep past `at`. */
void bwl_loop_set_timer(bwl_loop *loop, bwl_timer *timer, bwl_ms at);

/* From now on notifies the caller's event loop through `wakeup`.  SYSTEM; then nothing is
 * changed. */
int bwl_loop_attach_wakeup(bwl_loop *loop, struct bwl_wakeup *wakeup, bwl_fault *fault);

/* The caller's event loop has something to dispatch. */
void bwl_loop_notify_caller(bwl_loop *loop);

/* locked: ends the wait for events, if a thread runs the loop, and makes it call engine->woken. */
void bwl_loop_wake_runner(bwl_loop *loop);

/* Waits once for events, until `until`, and dispatches them.  SYSTEM. */
int bwl_loop_run(bwl_loop *loop, bwl_ms until, bwl_fault *fault);

/* locked: if no thread has run the loop lately, and the engine waits for something, dispatches what
 * has arrived and runs what is due.  Call it before a request that is not sent again.  Otherwise
 * the request could be written to a connection that has ended.  Or it could join an attempt to
 * connect whose time is over, and fail with it.  Releases the mutex meanwhile.  A later wait
 * reports an error. */
void bwl_loop_catch_up(bwl_loop *loop);

/* Waits for the completion.  TIMEOUT, SYSTEM, NOMEM. */
int bwl_loop_wait(bwl_loop *loop, bwl_completion *completion, bwl_ms until, bwl_fault *fault);

/* Completes it, and signals the threads that wait for it. */
void bwl_loop_complete(bwl_loop *loop, bwl_completion *completion, bwl_outcome_kind result);

/* Call when this thread stops running the loop: the first waiting thread runs it next, or else the
 * renewal thread or the caller's event loop is notified. */
void bwl_loop_hand_over(bwl_loop *loop);

/* locked: starts the renewal thread unless it runs.  SYSTEM. */
int bwl_loop_start_renewal(bwl_loop *loop, bwl_renewal_due *due, void *arg, bwl_fault *fault);

/* Not locked: ends the renewal thread and joins it, if it runs. */
void bwl_loop_stop_renewal(bwl_loop *loop);

/* Notifies the renewal thread, if it runs, to recompute when it has to run the loop. */
void bwl_loop_notify_renewal(bwl_loop *loop);

/* Whether a non-urgent command may be held back: it will be flushed within a millisecond. */
bool bwl_loop_may_hold_back(const bwl_loop *loop);

/* Around the start of an operation that is finished later.  While requests are in flight, its
 * commands are held back: they go out with those of the next operation, when a thread waits, or by
 * the renewal thread after a millisecond.  Nothing is held back if the caller has an event loop,
 * which may not dispatch that soon. */
void bwl_loop_coalesce_begin(bwl_loop *loop);
void bwl_loop_coalesce_end(bwl_loop *loop);

/* Around the start of several operations: their commands are held back until the end, and go out
 * together.  begin: false if the caller of this function does that already; then end does
 * nothing. */
bool bwl_loop_gather_begin(bwl_loop *loop);
void bwl_loop_gather_end(bwl_loop *loop, bool begun);

/* A condition for bwl_cond_wait. */
void bwl_cond_init(pthread_cond_t *cond);

/* Waits for at most wait_ms (BWL_NEVER: no limit).  May wake without a reason. */
void bwl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, bwl_ms wait_ms);
