/*
 * break.c -- force releases a hold that was shown, and no other.
 *
 * The caller passes the id that bowline_who wrote.  The holder is queried again, and the store is
 * asked to release only if the id is the same; the store compares once more.
 */
#include "api/who.h"
#include "api/uncancelled.h"
#include "base/fault.h"

static int changed(const bwl_lock *lock, const bwl_holder *holder, bowline_error *reterr)
{
    if (!holder->held)
        return bwl_fail(reterr, BWL_STATUS_BUSY,
                        "%s: the hold that was shown has ended, and the lock is free",
                        lock->base.name);
    return bwl_fail(reterr, BWL_STATUS_BUSY,
                    "%s: the hold that was shown has ended, and another client has the lock",
                    lock->base.name);
}

/* locked: checks that this hold still exists. */
static int query_again(bwl_lock *lock, uint64_t id, bowline_error *reterr)
{
    bwl_operation operation;
    bwl_holder    holder;

    bwl_lock_query_holder(lock, &operation);
    int status = bwl_loop_wait(&lock->shard->loop, &operation.completion, BWL_NEVER, reterr);
    if (status < 0)
        bwl_lock_cancel(&operation); /* the wait itself failed */
    else
        status = lock->shard->host.engine->who(&lock->base, &holder, reterr);
    if (status == BWL_OK && (!holder.held || holder.id != id))
        status = changed(lock, &holder, reterr);
    return status;
}

/* locked */
static int break_hold(bwl_shard *shard, const char *name, uint64_t id, bowline_error *reterr)
{
    bwl_operation operation;
    bwl_lock     *lock;
    int           status = bwl_lock_for_who(&lock, shard, name, reterr);

    if (status < 0)
        return status;
    status = query_again(lock, id, reterr);
    if (status == BWL_OK) {
        bwl_lock_force_release(lock, &operation);
        status = bwl_loop_wait(&shard->loop, &operation.completion, BWL_NEVER, reterr);
        if (status < 0)
            bwl_lock_cancel(&operation);
        else
            status = shard->host.engine->broken(&lock->base, reterr);
    }
    bwl_lock_drop_handle(lock);
    return status;
}

int bowline_break(bowline_client *client, const char *name, uint64_t id, bowline_error *reterr)
{
    BWL_UNCANCELLED;

    if (client == NULL || name == NULL || id == 0)
        return bwl_fail(
            reterr, BWL_STATUS_USAGE,
            "bowline_break needs a client, a name, and the id of a hold, which is not 0");
    bwl_shard *inner  = client->first;
    int        status = bwl_check_fork(inner, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(inner->host.settings.log);
    if (inner->host.engine->break_seen == NULL)
        return bwl_fail(
            reterr, BWL_STATUS_UNSUPPORTED, "a lock of %s: ends with its %s, and cannot be broken",
            inner->host.engine->scheme, inner->host.engine->has_lease ? "lease" : "process");
    bwl_shard_lock(inner);
    status = break_hold(inner, name, id, reterr);
    bwl_shard_unlock(inner);
    return status;
}
