/*
 * renewal_thread.h -- the thread that runs a loop while no caller does, so that leases are renewed
 * while the program works.
 *
 * It sleeps until its own work is due, not until the next event, so a caller can run the loop at
 * once, without a thread switch.  It calls no function of the user and blocks every signal.
 *
 * renewal_thread -> loop; the loop reaches it through bwl_idle_runner.
 */
#pragma once

#include "runtime/loop.h"

typedef struct bwl_renewal_thread bwl_renewal_thread;

/* locked: when the thread has to run the loop itself; BWL_NEVER: not now. */
typedef bwl_ms bwl_renewal_due(void *arg);

/* locked: starts the thread unless *thread exists.  SYSTEM, NOMEM. */
int bwl_renewal_thread_start(bwl_renewal_thread **thread, bwl_loop *loop, bwl_renewal_due *due,
                             void *arg, bwl_fault *fault);

/* Not locked: ends the thread, joins and frees it.  NULL is a no-op. */
void bwl_renewal_thread_stop(bwl_renewal_thread *thread);

/* Frees it in a forked child, where the thread does not exist.  NULL is a no-op. */
void bwl_renewal_thread_abandon(bwl_renewal_thread *thread);
