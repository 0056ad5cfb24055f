/*
 * handles.h -- the structs behind the handles of the public headers, checks of arguments, and the
 * beginning and the end of a call.
 */
#pragma once

#include "base/log.h"
#include "runtime/client.h"

#include <bowline/async.h>

#include <pthread.h>

static inline bwl_shard *bwl_shard_of_operation(const bowline_operation *op)
{
    return op->inner.lock->shard;
}

/* A hold is a bwl_lock. */
static inline bwl_lock *bwl_lock_of(const bowline_hold *hold)
{
    return (bwl_lock *)(uintptr_t)hold;
}

/* FORKED, if the client was opened by the parent. */
int bwl_check_fork(const bwl_shard *shard, bowline_error *reterr);

/* Copies an options struct of the caller's size into ours.  USAGE: no size.  UNSUPPORTED: it is
 * larger than ours and a field that we do not know is not 0. */
int bwl_copy_options(void *ret_ours, size_t our_size, const void *theirs, const char *macro,
                     bowline_error *reterr);

/* Reads the wait_ms of a caller; BWL_NEVER: no limit.  USAGE. */
int bwl_take_wait(bwl_ms *ret_wait_ms, const bwl_shard *client, int64_t wait_ms,
                  bowline_error *reterr);

/* Both may be 0: not given.  USAGE. */
int bwl_check_times(uint32_t lease_ms, int64_t max_hold_ms, bowline_error *reterr);

/* Whether it can be extended to this lease (0: the one it has).  USAGE; UNSUPPORTED: its protocol
 * never extends. */
int bwl_check_extend(const bwl_lock *lock, uint32_t lease_ms, bowline_error *reterr);

/* Whether this change of its mode can be sent.  USAGE, UNSUPPORTED; UNKNOWN: another one has no
 * reply. */
int bwl_check_change(bwl_lock *lock, bwl_change change, bowline_error *reterr);

/* Reads the options of an acquire, and what they mean for the machine.  USAGE, UNSUPPORTED. */
int       bwl_take_acquire_options(bowline_acquire_options *ret_options, bwl_ms *ret_wait_ms,
                                   const bwl_shard *shard, const bowline_acquire_options *theirs,
                                   bowline_error *reterr);
bwl_terms bwl_acquire_terms(const bwl_shard *shard, const bowline_acquire_options *o);

/* locked: waits for the end of an acquire; after a failure its lock is gone. */
int bwl_end_acquire(bowline_hold **ret_hold, bwl_operation *operation, bowline_error *reterr);

/* locked: starts the release of one reference: of the hold, if it is the last one. */
void bwl_start_release(bwl_operation *operation, bwl_lock *lock);

/* locked: waits for the end of any other operation; after a release its handle is gone. */
int bwl_end_other(bwl_operation *operation, bowline_error *reterr);

/* locked: whether the hold may change for all that have a reference to it; `verb` is for the text.
 * USAGE: there are several. */
int bwl_check_only_reference(const bwl_lock *lock, const char *verb, bowline_error *reterr);

/* locked: such an operation has been started for the caller, who will finish it. */
void bwl_watch_on_hold(bowline_operation *op);

/* locked: starts the renewal thread, which renews the hold while the caller works.  If it cannot
 * start, the hold would end with its lease: then it is released. */
int bwl_keep_hold(bowline_hold **hold, bowline_error *reterr);

/* The result of an operation: the status, with a text for users. */
int bwl_report(const bwl_operation *operation, bowline_error *reterr);

/* UNREACHABLE, with a text for users. */
int bwl_report_unreachable(const bwl_lock *lock, bowline_error *reterr);

/* LOST, with a text for users. */
int bwl_report_loss(const bwl_lock *lock, bowline_error *reterr);

/* locked: a lock for queries, which is never acquired.  USAGE (the name), NOMEM, SYSTEM. */
int bwl_query_lock_new(bwl_lock **ret_lock, bwl_shard *shard, const char *name,
                       bowline_error *reterr);

/* Whether the size of the caller's struct is ours (USAGE); fills it in. */
int  bwl_check_holder(const bowline_holder *holder, bowline_error *reterr);
void bwl_copy_holder(bowline_holder *ret_public, const char *name, const bwl_holder *h);

/* locked: adds the holder to the text of BUSY or TIMEOUT, if the store replies in time. */
void bwl_describe_holder(bwl_shard *shard, const char *name, bwl_ms until, bowline_error *error);

/* ---- what surrounds the work of a public function ----------------------------------------------
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
        bwl_loop_lock(&shard->loop);
    return call;
}

static inline void bwl_call_end(const bwl_call *call)
{
    if (call->locked != NULL)
        bwl_loop_unlock(&call->locked->loop);
    if (call->log != NULL)
        bwl_log_drain(call->log);
    bwl_cancel_as_before(&call->cancel_state);
}

/* Locks the shard until the end of the scope, and then drains the log: the next line returns
 * `call.status` if that is below 0. */
#define BWL_CALL(shard, reterr)                                          \
    __attribute__((cleanup(bwl_call_end), unused)) const bwl_call call = \
        bwl_call_begin(shard, true, (shard)->host.settings.log, reterr)

/* The same for a call that locks its shards by itself. */
#define BWL_UNLOCKED_CALL(shard, reterr)                                 \
    __attribute__((cleanup(bwl_call_end), unused)) const bwl_call call = \
        bwl_call_begin(shard, false, (shard)->host.settings.log, reterr)

/* Locks the shard, without an error and without messages. */
#define BWL_QUERY(shard)                                                 \
    __attribute__((cleanup(bwl_call_end), unused)) const bwl_call call = \
        bwl_call_begin(shard, true, NULL, NULL)
