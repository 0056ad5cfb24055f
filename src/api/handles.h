/*
 * handles.h -- the structs behind the handles of the public headers, and checks of arguments.
 */
#pragma once

#include "base/log.h"
#include "runtime/client.h"

#include <bowline/async.h>

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

/* The result of an operation: the status, with a text for users. */
int bwl_report(const bwl_operation *operation, bowline_error *reterr);

/* LOST, with a text for users. */
int bwl_report_loss(const bwl_lock *lock, bowline_error *reterr);

/* locked: adds the holder to the text of BUSY or TIMEOUT, if the store replies in time. */
void bwl_describe_holder(bwl_shard *shard, const char *name, bwl_ms until, bowline_error *error);
