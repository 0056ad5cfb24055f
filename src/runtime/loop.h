/*
 * loop.h -- how the threads inside one client take turns: one waits for events and dispatches them
 * for all, the others sleep until their own operation has ended or the first one leaves.
 */
#ifndef BWL_RUNTIME_LOOP_H
#define BWL_RUNTIME_LOOP_H

#include "runtime/shard.h"

void bwl_cond_init(pthread_cond_t *cond);

/* locked: sleeps on the condition, until `at` at the latest.  May wake for no reason. */
void bwl_sleep_until(bwl_shard *shard, pthread_cond_t *cond, bwl_ms at);

/* locked: nobody drives any more: lets the first sleeper do so, or else the keeper see to it. */
void bwl_hand_over(bwl_shard *shard);

/* locked: could something that has time be kept, until somebody waits, or by the keeper for a
 * millisecond?  Then whoever keeps it sets kept_since. */
bool bwl_may_hold_back(const bwl_shard *shard);

/* locked: around the start of an operation that is finished later.  While others are under way,
 * what it asks is kept, to go out with what is started next: when somebody waits, or by the keeper
 * after a millisecond.  Not where a loop is, which may have no turn that soon. */
void bwl_coalesce_begin(bwl_shard *shard);
void bwl_coalesce_end(bwl_shard *shard);

/* locked: the sleeper is to wake up.  It does when the mutex has been given back, and not before:
 * it could do nothing but wait for that. */
void bwl_signal(bwl_shard *shard, bwl_waiting_thread *waiting);

/* locked: whom to signal once the mutex has been given back; how many. */
enum { BWL_SIGNALS_MAX = 64 };
size_t bwl_take_signals(bwl_shard *shard, pthread_cond_t *ret_conds[BWL_SIGNALS_MAX]);

/* Nobody sleeps any more. */
void bwl_free_waiting_threads(bwl_shard *shard);

#endif
