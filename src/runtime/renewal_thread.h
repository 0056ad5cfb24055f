/*
 * renewal_thread.h -- a thread that drives a client while nobody else does, so that leases are
 * renewed while the program is busy with what it locked for.
 *
 * It sleeps until the next timer, not until the next event: a caller that comes is the driver at
 * once, and pays for no thread switch.  It calls nothing of the user's, and blocks every signal.
 */
#ifndef BWL_RUNTIME_RENEWAL_THREAD_H
#define BWL_RUNTIME_RENEWAL_THREAD_H

#include "runtime/shard.h"

/* locked: starts it unless there is one.  SYSTEM, NOMEM. */
int bwl_renewal_thread_start(bwl_shard *shard, bwl_fault *fault);

/* Not locked: ends it, and waits for that. */
void bwl_renewal_thread_stop(bwl_shard *shard);

/* locked: something has changed that it may have to see to.  It is woken when the mutex is given
 * back. */
void bwl_renewal_thread_notify(bwl_shard *shard);

#endif
