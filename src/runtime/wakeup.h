/*
 * wakeup.h -- notifies the caller's event loop that there is something to dispatch: by a descriptor
 * that the loop polls, or by the end of a pipe for event loops that cannot poll an epoll
 * descriptor.
 *
 *      outer epoll  <-- the epoll descriptor of the first shard: something has arrived
 *                   <-- an eventfd: another thread has completed something
 *                   <-- a timerfd: a timer of the first shard is due, and no other thread runs it
 *
 *      pipe         <-- one byte, by a thread: the outer epoll is readable
 *
 * Why the eventfd: any thread that runs the loop clears a wake of the shard's reactor.  Only
 * bowline_dispatch clears this one.
 *
 * Why a thread: a pipe becomes readable by a write.  The kernel has no simple way to write to one
 * descriptor when another becomes readable.  (io_uring has a way, but containers often forbid it.)
 * The thread sleeps until the outer epoll is readable, writes one byte, and then sleeps until the
 * next dispatch has ended.  It calls no function of the user and blocks every signal.
 *
 * Locking: a loop's mutex is taken before that of the wakeup, never the other way round.
 */
#pragma once

#include "core/status.h"

typedef struct bwl_wakeup bwl_wakeup;

/* SYSTEM, NOMEM.  Freed by the caller, after the loops that raise it are closed. */
int bwl_wakeup_new(bwl_wakeup **ret_wakeup, bwl_fault *fault);

/* Ends the thread and joins it.  No loop may be locked. */
void bwl_wakeup_stop(bwl_wakeup *wakeup);

/* After stop, or without it in a child of fork, where the thread does not exist.  NULL is a no-op.
 */
void bwl_wakeup_free(bwl_wakeup *wakeup);

/* Called once, by the loop: adds its epoll descriptor, and follows its timers.  Other loops may
 * raise the wakeup without being attached.  SYSTEM; then nothing is changed. */
int bwl_wakeup_attach(bwl_wakeup *wakeup, int epoll_fd, const void *loop, bwl_fault *fault);

/* The outer epoll descriptor. */
int bwl_wakeup_fd(const bwl_wakeup *wakeup);

/* The end of the pipe.  The first call starts the thread.  SYSTEM, NOMEM. */
int bwl_wakeup_pipe(bwl_wakeup *wakeup, bwl_fault *fault);

/* Makes it readable until the next dispatch.  Any thread. */
void bwl_wakeup_raise(bwl_wakeup *wakeup);

/* The loop (locked) needs a dispatch at `at`; BWL_NEVER: it needs none.  The descriptor becomes
 * readable earlier if it was set for an earlier time.  No effect unless this loop is attached. */
void bwl_wakeup_set_timer(bwl_wakeup *wakeup, const void *loop, bwl_ms at);

/* Around a dispatch: clears the wakeup; what is due afterwards raises it again. */
void bwl_wakeup_dispatch_begins(bwl_wakeup *wakeup);
void bwl_wakeup_dispatch_ended(bwl_wakeup *wakeup);
