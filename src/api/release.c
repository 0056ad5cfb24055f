/*
 * release.c -- how the release of a hold starts, the release of several, the one that does not wait
 * for the reply; and the references to a hold.
 *
 * A hold is released by the release of its last reference.  That of any other one sends nothing, so
 * it has completed when it starts.  Its operation counts as a reference until it is finished.
 */
#include "api/handles.h"
#include "base/clock.h"
#include "base/fault.h"
#include "runtime/local_groups.h"

#include <assert.h>

/* ---- references ------------------------------------------------------------------------------ */

bowline_hold *bowline_hold_ref(bowline_hold *hold)
{
    if (hold == NULL)
        return NULL;
    bwl_lock *lock = bwl_lock_of(hold);
    BWL_QUERY(lock->shard);
    bool gives_away = lock->operation != NULL && lock->operation->yields;
    return call.status == BOWLINE_OK && !gives_away && bwl_lock_add_reference(lock) ? hold : NULL;
}

int bwl_check_only_reference(const bwl_lock *lock, const char *verb, bowline_error *reterr)
{
    uint32_t others = bwl_lock_other_references(lock);

    if (others == 0)
        return BOWLINE_OK;
    return bwl_fail(reterr, BWL_STATUS_USAGE,
                    "cannot %s %.60s: it has other references (%u), which need it as it is.  "
                    "Release them first",
                    verb, lock->base.name, (unsigned)others);
}

/* locked: whether that was not the last one; then nothing is sent, and `operation` has the
 * result. */
static bool drop_reference(bwl_operation *operation, bwl_lock *lock)
{
    if (!bwl_lock_drop_reference(lock))
        return false;
    bwl_ms left_ms = bwl_hold_left_truly(&lock->base.hold, bwl_shard_now(lock->shard));
    *operation     = (bwl_operation){ .lock              = lock,
                                      .verb              = BWL_RELEASE,
                                      .completion.result = left_ms > 0 ? BWL_RELEASED : BWL_LOST };
    return true;
}

/* ---- one ------------------------------------------------------------------------------------- */

void bwl_start_release(bwl_operation *operation, bwl_lock *lock)
{
    if (drop_reference(operation, lock))
        return;
    if (lock->operation != NULL)
        bwl_lock_cancel(lock->operation); /* an extend in flight */
    if (!bwl_lock_keep(lock, operation))
        bwl_lock_release(lock, operation);
}

/* ---- several --------------------------------------------------------------------------------- */

static int start_release(bwl_operation *operation, bwl_lock *lock, bowline_error *reterr)
{
    bwl_shard_enter(lock->shard);
    BWL_CALL(lock->shard, reterr);
    if (call.status < 0)
        return call.status;
    bwl_loop_coalesce_begin(&lock->shard->loop);
    bwl_start_release(operation, lock);
    bwl_loop_coalesce_end(&lock->shard->loop);
    return BOWLINE_OK;
}

static int end_release(bwl_operation *operation, bowline_error *reterr)
{
    bwl_shard *shard = operation->lock->shard;

    BWL_CALL(shard, reterr);
    int status = bwl_end_other(operation, reterr);
    bwl_shard_leave(shard);
    return status;
}

/* All are on their way before the first reply is awaited. */
static int release_some(bowline_hold *holds[], size_t count, bowline_error *reterr)
{
    bwl_operation operations[BOWLINE_NAMES_MAX];
    int           first = BOWLINE_OK;

    for (size_t i = 0; i < count; i++) {
        operations[i].lock = NULL;
        int status = holds[i] != NULL ? start_release(&operations[i], bwl_lock_of(holds[i]), reterr)
                                      : BOWLINE_OK;
        if (status < 0)
            return status; /* FORKED, as for each of them */
    }
    for (size_t i = 0; i < count; i++) {
        bowline_error error;
        if (operations[i].lock == NULL)
            continue;
        holds[i]   = NULL;
        int status = end_release(&operations[i], &error);
        if (first != BOWLINE_OK || status == BOWLINE_OK)
            continue;
        first = status;
        if (reterr != NULL)
            *reterr = error;
    }
    return first;
}

int bowline_release_all(bowline_hold *holds[], size_t count, bowline_error *reterr)
{
    int first = BOWLINE_OK;

    if (holds == NULL && count > 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_release_all needs the holds");
    for (size_t at = 0; at < count; at += BOWLINE_NAMES_MAX) {
        bool   is_first = first == BOWLINE_OK;
        size_t some     = count - at < BOWLINE_NAMES_MAX ? count - at : BOWLINE_NAMES_MAX;
        int    status   = release_some(&holds[at], some, is_first ? reterr : NULL);
        first           = is_first ? status : first;
    }
    return first;
}

/* ---- releases without waiting ---------------------------------------------------------------- */

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
static int release_nowait(bwl_lock *lock, bowline_error *reterr)
{
    bwl_shard    *shard = lock->shard;
    bwl_operation operation;
    int           status = BOWLINE_OK;

    if (drop_reference(&operation, lock)) {
        status = bwl_report(&operation, reterr);
        bwl_lock_drop_handle(lock);
        return status;
    }
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
    int status = call.status < 0 ? call.status : release_nowait(bwl_lock_of(hold), reterr);
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
static int flush(bwl_shard *shard, bwl_ms until, bowline_error *reterr)
{
    bwl_shard_enter(shard);
    bwl_loop_lock(&shard->loop);
    int waited = wait_for_all(shard, until, reterr);
    int status = report_one(shard, reterr);
    bwl_loop_unlock(&shard->loop);
    bwl_shard_leave(shard);
    return status < 0 ? status : waited;
}

int bowline_flush_releases(bowline_client *client, int64_t wait_ms, bowline_error *reterr)
{
    bwl_shard *shard;
    bwl_ms     left_ms;

    if (client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_flush_releases needs a client");
    BWL_UNLOCKED_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_take_wait(&left_ms, client->first, wait_ms, reterr);
    if (status < 0)
        return status;
    bwl_ms until = bwl_ms_add(bwl_clock_now(), left_ms);
    for (unsigned i = 0; (shard = bwl_shard_at(client, i)) != NULL; i++) {
        int came = flush(shard, until, reterr);
        if (came < 0 && came != BOWLINE_TIMEOUT)
            return came;
        status = came < 0 ? came : status;
    }
    if (status == BOWLINE_TIMEOUT)
        (void)bwl_fail(reterr, BWL_STATUS_TIMEOUT, "releases are still in flight");
    return status;
}
