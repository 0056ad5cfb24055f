/*
 * yield.c -- giving the lock to who waits, and having it again.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "base/fault.h"

static int check(const bwl_lock *lock, int64_t wait_ms, bowline_error *reterr)
{
    bwl_fault *fault = bwl_fault_of(reterr);

    if (wait_ms < BOWLINE_FOREVER || wait_ms > BOWLINE_WAIT_MAX_MS)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "to yield, wait_ms is BOWLINE_FOREVER, or from 0 to 2147483647: who would "
                        "not wait to have it again releases");
    if (lock->operation != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "something is being done with %s already: finish that first",
                        lock->base.name);
    return BOWLINE_OK;
}

/* 0 is the URL's wait, and as long as it takes where that names none. */
static bwl_ms wait_of(const bwl_lock *lock, int64_t wait_ms)
{
    bwl_ms of_url = lock->shard->host.settings.wait_ms;

    if (wait_ms > 0)
        return wait_ms;
    return wait_ms == BOWLINE_FOREVER || of_url == 0 ? BWL_NEVER : of_url;
}

/* locked */
static int start(bwl_operation *operation, bwl_lock *lock, int64_t wait_ms, bowline_error *reterr)
{
    int status = check(lock, wait_ms, reterr);

    if (status == BOWLINE_OK)
        bwl_lock_yield(lock, operation, wait_of(lock, wait_ms));
    return status;
}

int bowline_yield(bowline_hold *hold, int64_t wait_ms, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_operation operation;

    if (hold == NULL)
        return bwl_fail(bwl_fault_of(reterr), BWL_STATUS_USAGE, "bowline_yield needs a hold");
    bwl_shard *shard  = bwl_lock_of(hold)->shard;
    int        status = bwl_check_fork(shard, reterr);
    if (status < 0)
        return status;
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
        return bwl_fail(bwl_fault_of(reterr), BWL_STATUS_USAGE,
                        "bowline_yield_start needs a place for the operation, and a hold");
    bwl_shard *shard  = bwl_lock_of(hold)->shard;
    int        status = bwl_check_fork(shard, reterr);
    if (status < 0)
        return status;
    bwl_shard_lock(shard);
    bowline_operation *op = bwl_operation_new(shard->client, reterr);
    status                = op != NULL ? BOWLINE_OK : BOWLINE_NOMEM;
    if (status == BOWLINE_OK)
        status = start(&op->inner, bwl_lock_of(hold), wait_ms, reterr);
    bwl_operation_begun(ret_op, op, status);
    bwl_shard_unlock(shard);
    return status;
}
