/*
 * call.h -- what surrounds the work of a public function.
 *
 * No call of the library is a cancellation point.  A thread that ended in the middle of a call
 * (pthread_cancel, at a read, a write or a wait) would leave the mutex locked, or the loop marked
 * as running, or a held lock without a handle.  So cancellation is disabled from the first line of
 * every call to its last: the call returns its result, and the thread ends at its own next
 * cancellation point.  bowline_cancel ends a wait.
 *
 * For deferred cancellation, the default.  A thread with asynchronous cancellation
 * (PTHREAD_CANCEL_ASYNCHRONOUS) may only call async-cancel-safe functions, so none of this library.
 */
#pragma once

#include "api/handles.h"

#include <pthread.h>

static inline int bwl_cancel_off(void)
{
    int before;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* fails for bad states only */
    return before;
}

static inline void bwl_cancel_as_before(const int *before)
{
    int ours;

    (void)pthread_setcancelstate(*before, &ours);
}

/* Must be the first line of a public function without one of the calls below. */
#define BWL_UNCANCELLED \
    __attribute__((cleanup(bwl_cancel_as_before), unused)) const int cancel_state = bwl_cancel_off()

typedef struct bwl_call {
    int        status; /* FORKED: the shard belongs to the parent, and is not locked */
    int        cancel_state;
    bwl_shard *locked; /* NULL: none */
    bwl_log   *log;    /* NULL: it is not drained */
} bwl_call;

static inline bwl_call bwl_call_begin(bwl_shard *shard, bool locks, bwl_log *log,
                                      bowline_error *reterr)
{
    bwl_call call = { .cancel_state = bwl_cancel_off() };

    call.status = bwl_check_fork(shard, reterr);
    if (call.status < 0)
        return call;
    call.log    = log;
    call.locked = locks ? shard : NULL;
    if (locks)
        bwl_shard_lock(shard);
    return call;
}

static inline void bwl_call_end(const bwl_call *call)
{
    if (call->locked != NULL)
        bwl_shard_unlock(call->locked);
    bwl_log_drain(call->log);
    bwl_cancel_as_before(&call->cancel_state);
}

/* Locks the shard until the end of the scope, and then drains the log: the next line returns
 * `call.status` if that is below 0. */
#define BWL_CALL(shard, reterr)                                  \
    __attribute__((cleanup(bwl_call_end))) const bwl_call call = \
        bwl_call_begin(shard, true, (shard)->host.settings.log, reterr)

/* The same for a call that locks its shards by itself. */
#define BWL_UNLOCKED_CALL(shard, reterr)                         \
    __attribute__((cleanup(bwl_call_end))) const bwl_call call = \
        bwl_call_begin(shard, false, (shard)->host.settings.log, reterr)

/* Locks the shard, without an error and without messages. */
#define BWL_QUERY(shard)                                         \
    __attribute__((cleanup(bwl_call_end))) const bwl_call call = \
        bwl_call_begin(shard, true, NULL, NULL)
