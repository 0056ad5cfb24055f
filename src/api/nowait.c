/*
 * nowait.c -- releases without waiting, and their results.
 */
#include "api/handles.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/fault.h"

/* locked: whether one more release may be in flight.  Reads replies here, in case no other call
 * does. */
static bool has_room(bwl_shard *shard)
{
    bwl_background *u = &shard->background;

    if (u->count >= BWL_BACKGROUND_MAX && !shard->loop.is_running)
        (void)bwl_loop_run(&shard->loop, bwl_shard_now(shard), NULL); /* an error: no room */
    return u->count < BWL_BACKGROUND_MAX;
}

/* locked */
static int release(bwl_lock *lock, bowline_error *reterr)
{
    bwl_shard    *shard = lock->shard;
    bwl_operation operation;
    int           status = BOWLINE_OK;

    if (lock->operation != NULL)
        bwl_lock_cancel(lock->operation); /* an extension */
    if (has_room(shard)) {
        if (bwl_lock_release_in_background(lock, &operation)) {
            status = bwl_report(&operation, reterr);
            bwl_lock_drop_handle(lock);
        }
        bwl_loop_hand_over(&shard->loop);
        return status;
    }
    bwl_lock_release(lock, &operation);
    status = bwl_loop_wait(&shard->loop, &operation.completion, BWL_NEVER, reterr);
    if (status == BOWLINE_OK)
        status = bwl_report(&operation, reterr);
    lock->operation = NULL;
    bwl_lock_drop_handle(lock);
    return status;
}

int bowline_release_nowait(bowline_hold *hold, bowline_error *reterr)
{
    if (hold == NULL)
        return BOWLINE_OK;
    bwl_shard *shard = bwl_lock_of(hold)->shard;
    bwl_shard_enter(shard);
    BWL_CALL(shard, reterr);
    int status = call.status < 0 ? call.status : release(bwl_lock_of(hold), reterr);
    bwl_shard_leave(shard);
    return status;
}

/* locked: reports one failed release, or the number of the others. */
static int report_one(bwl_shard *shard, bowline_error *reterr)
{
    size_t    lost;
    bwl_lock *lock = bwl_background_take(shard);

    if (lock != NULL) {
        bwl_operation operation = { .lock              = lock,
                                    .verb              = BWL_RELEASE,
                                    .completion.result = lock->ended_as };
        int           status    = bwl_report(&operation, reterr);
        bwl_lock_drop_handle(lock);
        return status;
    }
    size_t dropped = bwl_background_take_dropped(shard, &lost);
    if (dropped == 0)
        return BOWLINE_OK;
    return bwl_fail(reterr, lost > 0 ? BWL_STATUS_LOST : BWL_STATUS_UNKNOWN,
                    "%zu more releases failed, %zu of them because the lock was lost", dropped,
                    lost);
}

/* locked: waits for the end of all in this shard.  OK, TIMEOUT, SYSTEM, NOMEM. */
static int wait_for_all(bwl_shard *shard, bwl_ms until, bowline_error *reterr)
{
    bwl_completion *end    = &shard->background.end;
    int             status = BOWLINE_OK;

    if (end->result != BWL_PENDING)
        return BOWLINE_OK;
    if (until <= bwl_shard_now(shard) && !shard->loop.is_running) /* what arrived counts */
        status = bwl_loop_run(&shard->loop, shard->host.latest, reterr);
    int waited = bwl_loop_wait(&shard->loop, end, until, reterr);
    return status < 0 ? status : waited;
}

/* The same for one shard. */
static int released(bwl_shard *shard, bwl_ms until, bowline_error *reterr)
{
    bwl_shard_enter(shard);
    bwl_shard_lock(shard);
    int waited = wait_for_all(shard, until, reterr);
    int status = report_one(shard, reterr);
    bwl_shard_unlock(shard);
    bwl_shard_leave(shard);
    return status < 0 ? status : waited;
}

int bowline_flush_releases(bowline_client *client, int64_t wait_ms, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_shard *shard;
    bwl_ms     left_ms;

    if (client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_flush_releases needs a client");
    int status = bwl_check_fork(client->first, reterr);
    if (status == BOWLINE_OK)
        status = bwl_take_wait(&left_ms, client->first, wait_ms, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(client->first->host.settings.log);
    bwl_ms until = bwl_ms_add(bwl_clock_now(), left_ms);
    for (unsigned i = 0; (shard = bwl_shard_at(client, i)) != NULL; i++) {
        int came = released(shard, until, reterr);
        if (came < 0 && came != BOWLINE_TIMEOUT)
            return came;
        status = came < 0 ? came : status;
    }
    if (status == BOWLINE_TIMEOUT)
        (void)bwl_fail(reterr, BWL_STATUS_TIMEOUT, "releases are still in flight");
    return status;
}
