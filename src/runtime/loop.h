/*
 * loop.h -- the event loop of one shard, and the threads that share it.
 *
 * One thread at a time runs the loop: it waits for events and dispatches them for every thread of
 * the shard.  The other threads inside a blocking call sleep until their own operation has
 * completed or no thread runs the loop any more.  Usually no thread switch is needed.
 *
 * Calls go down only, to timers.h and wakeup.h.  A timer calls its own `expired` function, an I/O
 * source its own `ready` function, and a thread that runs the loop while no caller does is reached
 * through bwl_idle_runner.  The loop does not know locks.
 *
 * Locking: loop->mutex guards the loop and everything else in its shard.  "locked" in a comment
 * means that the caller holds it.  It is released while a thread waits for events.
 */
#pragma once

#include "engine/engine.h"
#include "runtime/timers.h"

#include <pthread.h>

struct bwl_wakeup;

/* A thread inside a blocking call while another thread runs the loop.  It is freed only with the
 * loop: a thread is signalled without the mutex, when it may already have woken. */
typedef struct bwl_waiting_thread {
    pthread_cond_t             cond;
    struct bwl_waiting_thread *next;
    struct bwl_waiting_thread *previous;
    struct bwl_waiting_thread *beside;         /* waits for the same completion         */
    struct bwl_waiting_thread *next_to_signal; /* once the mutex is released            */
    bool                       is_signalled;   /* or about to be, and has not run since */
} bwl_waiting_thread;

/* What a thread waits for. */
typedef struct bwl_completion {
    bwl_outcome_kind    result;  /* BWL_PENDING: not completed */
    bwl_waiting_thread *waiting; /* linked by `beside` */
} bwl_completion;

/* A thread that runs the loop while no caller does; see renewal_thread.h. */
typedef struct bwl_idle_runner {
    /* locked: no thread runs the loop now, or there is new work. */
    void (*notify)(struct bwl_idle_runner *runner);
} bwl_idle_runner;

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
    pthread_cond_t     *to_notify;    /* to be signalled without the mutex, for the idle runner */
    bwl_idle_runner    *idle_runner;  /* NULL: none */
    struct bwl_wakeup  *wakeup;       /* NULL: no caller needs a descriptor */
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

/* locked: when the next timer is due. */
bwl_ms bwl_loop_next_timer(bwl_loop *loop);

/* The epoll descriptor, opened by the first call.  SYSTEM. */
int bwl_loop_fd(bwl_loop *loop, bwl_fault *fault);

/* From now on notifies the caller's event loop through `wakeup`.  SYSTEM; then nothing is
 * changed. */
int bwl_loop_attach_wakeup(bwl_loop *loop, struct bwl_wakeup *wakeup, bwl_fault *fault);

/* The caller's event loop has something to dispatch. */
void bwl_loop_notify_caller(bwl_loop *loop);

/* Any thread, with or without the mutex: ends the wait for events, and makes the loop call
 * engine->woken.  The reactor must be open. */
void bwl_loop_wake(bwl_loop *loop);

/* locked: the same, if a thread runs the loop. */
void bwl_loop_wake_runner(bwl_loop *loop);

/* Waits once for events, until `until`, and dispatches them.  SYSTEM. */
int bwl_loop_run(bwl_loop *loop, bwl_ms until, bwl_fault *fault);

/* Waits for the completion.  TIMEOUT, SYSTEM, NOMEM. */
int bwl_loop_wait(bwl_loop *loop, bwl_completion *completion, bwl_ms until, bwl_fault *fault);

/* Completes it, and signals the threads that wait for it. */
void bwl_loop_complete(bwl_loop *loop, bwl_completion *completion, bwl_outcome_kind result);

/* Call when this thread stops running the loop: the first waiting thread runs it next, or else the
 * idle runner or the caller's event loop is notified. */
void bwl_loop_hand_over(bwl_loop *loop);

/* Notifies the idle runner, if there is one, to recompute when it has to run. */
void bwl_loop_notify_idle_runner(bwl_loop *loop);

/* Sleeps on the condition until `at` at the latest.  May wake without a reason. */
void bwl_loop_sleep(bwl_loop *loop, pthread_cond_t *cond, bwl_ms at);

/* Whether a non-urgent command may be held back: it will be flushed within a millisecond. */
bool bwl_loop_may_hold_back(const bwl_loop *loop);

/* Around the start of an operation that is finished later.  While requests are in flight, its
 * commands are held back: they go out with those of the next operation, when a thread waits, or by
 * the idle runner after a millisecond.  Nothing is held back if the caller has an event loop, which
 * may not dispatch that soon. */
void bwl_loop_coalesce_begin(bwl_loop *loop);
void bwl_loop_coalesce_end(bwl_loop *loop);

/* A condition that waits on the monotonic clock. */
void bwl_cond_init(pthread_cond_t *cond);

/* locked: lets `runner` run the loop while no caller does.  NULL: none. */
void bwl_loop_set_idle_runner(bwl_loop *loop, bwl_idle_runner *runner);

/* locked: signals the condition once the mutex is released. */
void bwl_loop_notify_later(bwl_loop *loop, pthread_cond_t *cond);
