/*
 * handles.h -- what is behind the handles of the public headers.
 */
#pragma once

#include "base/log.h"
#include "runtime/client.h"

#include <bowline/async.h>

static inline bwl_shard *bwl_shard_of_operation(const bowline_operation *op)
{
    return op->inner.lock->shard;
}

/* A hold is a lock, no more: the machine with everything around it. */
static inline bwl_lock *bwl_lock_of(const bowline_hold *hold)
{
    return (bwl_lock *)(uintptr_t)hold;
}

/* FORKED, if the client came from the parent. */
int bwl_check_fork(const bwl_shard *shard, bowline_error *reterr);

/* Copies an options struct of the caller's size into one of ours.  USAGE: no size.  UNSUPPORTED: it
 * is larger than ours and has something in the part that we do not know. */
int bwl_copy_options(void *ret_ours, size_t our_size, const void *theirs, const char *macro,
                     bowline_error *reterr);

/* Any wait_ms of a caller: how long that is, BWL_NEVER for ever.  USAGE. */
int bwl_take_wait(bwl_ms *ret_wait_ms, const bwl_shard *client, int64_t wait_ms,
                  bowline_error *reterr);

/* May it be extended to this lease (0: the one it has)?  USAGE; UNSUPPORTED: its protocol never
 * does that. */
int bwl_check_extend(const bwl_lock *lock, uint32_t lease_ms, bowline_error *reterr);

/* locked: the handle of an operation that is started; free it with bwl_client_operation_free.
 * NULL: NOMEM. */
bowline_operation *bwl_operation_new(bowline_client *client, bowline_error *reterr);

/* locked: waits for the end; what could not even be waited for is taken back.  As bwl_report. */
int bwl_operation_end(bwl_operation *operation, bowline_error *reterr);

/* locked: it was started, and somebody may want to hear of its end. */
bowline_operation *bwl_operation_show(bowline_operation *op, void *user);

/* How an operation came out: the status, with a text for people. */
int bwl_report(const bwl_operation *operation, bowline_error *reterr);

/* LOST, with a text for people. */
int bwl_report_loss(const bwl_lock *lock, bowline_error *reterr);
