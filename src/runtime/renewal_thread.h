/*
 * renewal_thread.h -- a thread that drives a client while nobody else does, so that leases are
 * renewed while the program is busy with what it locked for.
 *
 * It sleeps until the next timer, not until the next event: a caller that comes is the driver at
 * once, and pays for no thread switch.  It calls nothing of the user's, and blocks every signal.
 */
#ifndef BWL_RUNTIME_RENEWAL_THREAD_H
#define BWL_RUNTIME_RENEWAL_THREAD_H

#include "runtime/client.h"

/* locked: starts it unless there is one.  SYSTEM, NOMEM. */
int bwl_keeper_start(bwl_client *client, bwl_fault *fault);

/* Not locked: ends it, and waits for that. */
void bwl_keeper_stop(bwl_client *client);

/* locked: something has changed that it may have to see to.  It is woken when the mutex is given
 * back. */
void bwl_keeper_nudge(bwl_client *client);

#endif
