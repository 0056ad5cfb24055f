/*
 * loss.c -- a hold that is lost, or may soon be: by a descriptor, and by asking why.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "base/fault.h"

int bowline_hold_lost_fd(bowline_hold *hold, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_hold_lost_fd needs a hold");
    bwl_shard *shard  = bwl_lock_of(hold)->shard;
    int        status = bwl_check_fork(shard, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(shard->host.settings.log);
    bwl_shard_lock(shard);
    status = bwl_lock_loss_fd(bwl_lock_of(hold), reterr);
    bwl_shard_unlock(shard);
    return status;
}

/* Why the last attempt at renewing it has failed. */
static int report(const bwl_lock *lock, bwl_ms left_ms, bowline_error *reterr)
{
    const char *why =
        lock->base.why.text[0] != '\0' ? lock->base.why.text : "the server did not answer";
    bwl_status status = BWL_STATUS_UNKNOWN;

    if (lock->base.hold.last_error == BWL_UNREACHABLE)
        status = BWL_STATUS_UNREACHABLE;
    else if (lock->base.hold.last_error != BWL_UNKNOWN)
        status = BWL_STATUS_REFUSED;
    return bwl_fail_because(reterr, status, &lock->base.why,
                            "%s is ours for %lld ms more, but cannot be renewed: %s",
                            lock->base.name, (long long)left_ms, why);
}

int bowline_hold_check(bowline_hold *hold, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_hold_check needs a hold");
    bwl_lock  *lock   = bwl_lock_of(hold);
    bwl_shard *shard  = lock->shard;
    int        status = bwl_check_fork(shard, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(shard->host.settings.log);
    bwl_shard_lock(shard);
    bwl_ms left_ms = bwl_hold_left_truly(&lock->base.hold, bwl_shard_now(shard));
    if (left_ms == 0)
        status = bwl_report_loss(lock, reterr);
    else if (lock->base.hold.last_error != BWL_PENDING)
        status = report(lock, left_ms, reterr);
    bwl_shard_unlock(shard);
    return status;
}
