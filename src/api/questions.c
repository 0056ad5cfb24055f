/*
 * questions.c -- the state of a hold and of a client, the caller's data, and what event loops need:
 * descriptors, the next event, the dispatch.
 */
#include "api/handles.h"
#include "core/text.h"
#include "runtime/local_groups.h"
#include "runtime/wakeup.h"
#include "base/fault.h"

#include <bowline/stats.h>

#include <string.h>

/* ---- event loops ----------------------------------------------------------------------------- */

int bowline_fd(bowline_client *client)
{
    BWL_UNLOCKED_CALL(client->first, NULL);
    int status = call.status < 0 ? call.status : bwl_client_need_wakeup(client, NULL);
    return status < 0 ? status : bwl_wakeup_fd(client->wakeup);
}

int bowline_wakeup_fd(bowline_client *client, bowline_error *reterr)
{
    if (client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_wakeup_fd needs a client");
    BWL_UNLOCKED_CALL(client->first, reterr);
    int status = call.status < 0 ? call.status : bwl_client_need_wakeup(client, reterr);
    return status < 0 ? status : bwl_wakeup_pipe(client->wakeup, reterr);
}

int bowline_hold_lost_fd(bowline_hold *hold, bowline_error *reterr)
{
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_hold_lost_fd needs a hold");
    BWL_CALL(bwl_lock_of(hold)->shard, reterr);
    return call.status < 0 ? call.status : bwl_lock_loss_fd(bwl_lock_of(hold), reterr);
}

/* locked */
static bool take(bwl_shard *shard, bowline_event *ret_event)
{
    bwl_lock             *lock;
    bwl_operation        *operation;
    bwl_queued_event_kind kind = bwl_event_queue_take(shard, &lock, &operation);

    if (kind == 0)
        return false;
    ret_event->kind      = (int32_t)kind;
    ret_event->reserved  = 0;
    ret_event->operation = (bowline_operation *)(void *)operation; /* its first member */
    ret_event->hold      = (bowline_hold *)lock;
    ret_event->data      = operation != NULL ? operation->user : lock->user;
    return true;
}

int bowline_next_event(bowline_client *client, bowline_event *ret_event, bowline_error *reterr)
{
    bwl_shard *shard;
    bool       taken = false;

    if (client == NULL || ret_event == NULL || ret_event->size != sizeof *ret_event)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_next_event needs a client, and a place for the event whose size "
                        "field is sizeof(bowline_event)");
    BWL_UNLOCKED_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    for (unsigned i = 0; !taken && (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_loop_lock(&shard->loop);
        taken = take(shard, ret_event);
        bwl_loop_unlock(&shard->loop);
    }
    return taken ? 1 : 0;
}

int64_t bowline_timeout_ms(bowline_client *client)
{
    BWL_QUERY(client->first);
    if (call.status < 0)
        return BOWLINE_FOREVER;
    bwl_ms now = bwl_shard_now(client->first);
    bwl_ms at  = bwl_timers_next(&client->first->loop.timers);
    if (at == BWL_NEVER)
        return BOWLINE_FOREVER;
    return at > now ? at - now : 0;
}

int bowline_dispatch(bowline_client *client, int64_t wait_ms, bowline_error *reterr)
{
    bwl_shard *first = client->first;
    bwl_ms     left_ms;

    BWL_CALL(first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_take_wait(&left_ms, first, wait_ms, reterr);
    if (status < 0)
        return status;
    bwl_ms until = bwl_ms_add(bwl_shard_now(first), left_ms);
    if (client->wakeup != NULL)
        bwl_wakeup_dispatch_begins(client->wakeup);
    first->loop.dispatchers++;
    if (!first->loop.is_running)
        status = bwl_loop_run(&first->loop, until, reterr);
    bwl_loop_hand_over(&first->loop);
    first->loop.dispatchers--;
    if (client->wakeup != NULL)
        bwl_wakeup_dispatch_ended(client->wakeup);
    return status;
}

int bowline_client_stats(bowline_client *client, bowline_stats *ret_stats, bowline_error *reterr)
{
    bwl_stats  sum = { 0 };
    bwl_shard *shard;

    if (client == NULL || ret_stats == NULL || ret_stats->size != sizeof *ret_stats)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_client_stats needs a client, and a place for the numbers whose "
                        "size field is sizeof(bowline_stats)");
    BWL_UNLOCKED_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    for (unsigned i = 0; (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_loop_lock(&shard->loop);
        bwl_stats_add(&sum, &shard->stats);
        bwl_loop_unlock(&shard->loop);
    }
    *ret_stats = (bowline_stats){
        .size            = sizeof *ret_stats,
        .acquired        = sum.acquired,
        .not_acquired    = sum.not_acquired,
        .released        = sum.released,
        .lost            = sum.lost,
        .not_released    = sum.not_released,
        .renewals        = sum.renewals,
        .renewals_late   = sum.renewals_late,
        .renewals_failed = sum.renewals_failed,
        .connections     = sum.connections,
        .waited_ms       = sum.waited_ms,
        .waited_max_ms   = sum.waited_max_ms,
        .held_ms         = sum.held_ms,
    };
    return BOWLINE_OK;
}

/* ---- a hold ---------------------------------------------------------------------------------- */

/* Why the last renewal has failed. */
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
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_hold_check needs a hold");
    const bwl_lock *lock = bwl_lock_of(hold);
    BWL_CALL(lock->shard, reterr);
    if (call.status < 0)
        return call.status;
    bwl_ms left_ms = bwl_hold_left_truly(&lock->base.hold, bwl_shard_now(lock->shard));
    if (left_ms == 0)
        return bwl_report_loss(lock, reterr);
    return lock->base.hold.last_error != BWL_PENDING ? report(lock, left_ms, reterr) : BOWLINE_OK;
}

int64_t bowline_hold_left_ms(bowline_hold *hold)
{
    const bwl_lock *lock = bwl_lock_of(hold);

    BWL_QUERY(lock->shard);
    return call.status < 0 ? 0 : bwl_hold_left_truly(&lock->base.hold, bwl_shard_now(lock->shard));
}

int bowline_hold_drop_rest(bowline_hold *hold, bowline_error *reterr)
{
    if (hold == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_hold_drop_rest needs a hold");
    bwl_lock *lock = bwl_lock_of(hold);
    BWL_CALL(lock->shard, reterr);
    if (call.status == BOWLINE_OK)
        bwl_hold_drop_rest(&lock->base.hold);
    return call.status;
}

uint64_t bowline_hold_fence(const bowline_hold *hold)
{
    BWL_QUERY(bwl_lock_of(hold)->shard); /* a yield writes it while other threads read it */
    return bwl_lock_of(hold)->base.hold.fence;
}

const char *bowline_hold_name(const bowline_hold *hold)
{
    return bwl_lock_of(hold)->base.name;
}

int bowline_hold_inherit_fds(bowline_hold *hold, int ret_fds[BOWLINE_HOLD_INHERIT_FDS_MAX])
{
    bwl_lock         *lock   = bwl_lock_of(hold);
    const bwl_engine *engine = lock->shard->host.engine;

    BWL_QUERY(lock->shard);
    return call.status < 0 || engine->fds == NULL ? 0 : engine->fds(&lock->base, ret_fds);
}

/* ---- the caller's data ----------------------------------------------------------------------- */

void bowline_hold_set_data(bowline_hold *hold, void *data)
{
    BWL_QUERY(bwl_lock_of(hold)->shard);
    bwl_lock_of(hold)->user = data;
}

void *bowline_hold_data(const bowline_hold *hold)
{
    BWL_QUERY(bwl_lock_of(hold)->shard);
    return bwl_lock_of(hold)->user;
}

void bowline_operation_set_data(bowline_operation *op, void *data)
{
    BWL_QUERY(bwl_shard_of_operation(op));
    op->inner.user = data;
}

void *bowline_operation_data(const bowline_operation *op)
{
    BWL_QUERY(bwl_shard_of_operation(op));
    return op->inner.user;
}

int bowline_duration_parse(int64_t *ret_ms, const char *text, bowline_error *reterr)
{
    if (ret_ms == NULL || text == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_duration_parse needs a place for the result, and a text");
    if (!bwl_duration_parse(ret_ms, text, strlen(text)))
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "\"%.40s\" is not a duration such as 250ms, 30s, 5m, 2h, 1m30s", text);
    return BOWLINE_OK;
}

int bowline_hold_set_command(bowline_hold *hold, int64_t pid, bowline_error *reterr)
{
    bwl_lock *lock = bwl_lock_of(hold);

    if (hold == NULL || pid < 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_hold_set_command needs a hold, and a pid or 0");
    BWL_CALL(lock->shard, reterr);
    if (call.status < 0)
        return call.status;
    if (bwl_hold_left(&lock->base.hold, bwl_shard_now(lock->shard)) == 0)
        return bwl_report_loss(lock, reterr);
    bwl_lock *in_store = bwl_lock_in_store(lock);
    if (in_store != NULL && in_store->engine->view.command != NULL)
        in_store->engine->view.command(&in_store->base, pid);
    return BOWLINE_OK;
}
