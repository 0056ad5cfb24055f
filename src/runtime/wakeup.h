/*
 * wakeup.h -- how the event loop of the caller is told that there is something to do: a descriptor
 * that it polls, and for loops that cannot poll such a one, the end of a pipe.
 *
 *      outer epoll  <-- the epoll descriptor of the client: something has arrived
 *                   <-- an eventfd: rung when another thread has ended something
 *
 *      pipe         <-- one byte, by a thread: the outer epoll is readable, or a timer is due
 *
 * Why the eventfd: what one wakes a client's reactor with is heard, and taken, by whichever thread
 * drives; this only a dispatch takes.
 *
 * Why a thread: a pipe becomes readable when somebody writes to it.  The kernel has no plain way of
 * writing to one descriptor when another becomes readable (io_uring has, where it is allowed, and
 * containers do not allow it), and a time-out is not even a descriptor.  The thread sleeps until
 * either comes, writes one byte, and then sleeps until the next dispatch has ended.  It calls
 * nothing of the user's, and blocks every signal.
 *
 * Locks: a client's mutex is taken before the bell's, never the other way round.
 */
#ifndef BWL_RUNTIME_WAKEUP_H
#define BWL_RUNTIME_WAKEUP_H

#include "runtime/shard.h"

typedef struct bwl_wakeup bwl_wakeup;

/* SYSTEM, NOMEM.  The caller frees it, when the clients that ring it are closed. */
int bwl_wakeup_new(bwl_wakeup **ret_wakeup, bwl_fault *fault);

/* Ends the thread, and waits for that.  No client must be locked. */
void bwl_wakeup_stop(bwl_wakeup *wakeup);

/* After stop; or without it in a forked child, where there is no such thread.  NULL is a no-op. */
void bwl_wakeup_free(bwl_wakeup *wakeup);

/* locked: this is the client whose loop it is, and which rings it from now on.  (Others may ring it
 * as well: their `bell` is set, no more.)  Once; nothing is changed if it fails.  SYSTEM. */
int bwl_wakeup_attach(bwl_wakeup *wakeup, bwl_shard *shard, bwl_fault *fault);

/* The outer epoll descriptor. */
int bwl_wakeup_fd(const bwl_wakeup *wakeup);

/* The end of the pipe.  The first call starts the thread.  SYSTEM, NOMEM. */
int bwl_wakeup_pipe(bwl_wakeup *wakeup, bwl_fault *fault);

/* Makes it readable until the next dispatch.  Any thread. */
void bwl_wakeup_raise(bwl_wakeup *wakeup);

/* locked: the client has a timer for `at`, or has been left to itself with it. */
void bwl_wakeup_set_timer(bwl_wakeup *wakeup, const bwl_shard *shard, bwl_ms at);

/* Around a dispatch: what was rung before it is heard; what is due after it is rung anew. */
void bwl_wakeup_dispatch_begins(bwl_wakeup *wakeup);
void bwl_wakeup_dispatch_ended(bwl_wakeup *wakeup);

#endif
