/*
 * yield.c -- giving the lock to who waits, and having it again.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "base/fault.h"

/* How long to wait for the lock to come back: by default as long as it takes, if the URL does not
 * say. */
static int take_wait(bwl_ms *ret_wait_ms, const bwl_lock *lock, int64_t wait_ms,
                     bowline_error *reterr)
{
    int status = bwl_take_wait(ret_wait_ms, lock->shard, wait_ms, reterr);

    if (status < 0)
        return status;
    if (wait_ms == 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "wait_ms is 0: a yield waits until the lock is ours again; to give it away "
                        "without waiting, release it");
    if (*ret_wait_ms == 0)
        *ret_wait_ms = BWL_NEVER;
    return BOWLINE_OK;
}

/* locked */
static int start(bwl_operation *operation, bwl_lock *lock, int64_t wait_ms, bowline_error *reterr)
{
    bwl_ms left_ms;
    int    status = take_wait(&left_ms, lock, wait_ms, reterr);

    if (status < 0)
        return status;
    if (lock->operation != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "something is being done with %s already: finish that first",
                        lock->base.name);
    bwl_lock_yield(lock, operation, left_ms);
    return BOWLINE_OK;
}

int bowline_yield(bowline_hold *hold, int64_t wait_ms, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_operation operation;

    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_yield needs a hold");
    bwl_shard *shard  = bwl_lock_of(hold)->shard;
    int        status = bwl_check_fork(shard, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(shard->host.settings.log);
    bwl_shard_enter(shard);
    bwl_shard_lock(shard);
    status = start(&operation, bwl_lock_of(hold), wait_ms, reterr);
    if (status == BOWLINE_OK)
        status = bwl_operation_end(&operation, reterr);
    if (status == BOWLINE_OK)
        bwl_loop_notify_idle_runner(&shard->loop);
    bwl_shard_unlock(shard);
    bwl_shard_leave(shard);
    return status;
}

int bowline_yield_start(bowline_operation **ret_op, bowline_hold *hold, int64_t wait_ms,
                        bowline_error *reterr)
{
    BWL_UNCANCELLED;
    if (ret_op == NULL || hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_yield_start needs a place for the operation, and a hold");
    bwl_shard *shard  = bwl_lock_of(hold)->shard;
    int        status = bwl_check_fork(shard, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(shard->host.settings.log);
    bwl_shard_lock(shard);
    bowline_operation *op = bwl_operation_new(shard->client, reterr);
    status                = op != NULL ? BOWLINE_OK : BOWLINE_NOMEM;
    if (status == BOWLINE_OK)
        status = start(&op->inner, bwl_lock_of(hold), wait_ms, reterr);
    bwl_operation_begun(ret_op, op, status);
    bwl_shard_unlock(shard);
    return status;
}
