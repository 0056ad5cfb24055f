/*
 * questions.c -- the state of a hold and of a client, and the descriptors for event loops.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "core/text.h"
#include "runtime/wakeup.h"
#include "base/fault.h"

#include <string.h>

static int need_wakeup(bowline_client *client, bowline_error *reterr)
{
    int status = bwl_check_fork(client->first, reterr);

    return status < 0 ? status : bwl_client_need_wakeup(client, reterr);
}

int bowline_fd(bowline_client *client)
{
    BWL_UNCANCELLED;
    int status = need_wakeup(client, NULL);

    return status < 0 ? status : bwl_wakeup_fd(client->wakeup);
}

int bowline_wakeup_fd(bowline_client *client, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    if (client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_wakeup_fd needs a client");
    int status = need_wakeup(client, reterr);

    return status < 0 ? status : bwl_wakeup_pipe(client->wakeup, reterr);
}

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

int64_t bowline_hold_left_ms(bowline_hold *hold)
{
    BWL_UNCANCELLED;
    bwl_lock  *lock  = bwl_lock_of(hold);
    bwl_shard *shard = lock->shard;

    if (bwl_forked(&shard->host.guard))
        return 0;
    bwl_shard_lock(shard);
    bwl_ms left_ms = bwl_hold_left_truly(&lock->base.hold, bwl_shard_now(shard));
    bwl_shard_unlock(shard);
    return left_ms;
}

uint64_t bowline_hold_fence(const bowline_hold *hold)
{
    BWL_UNCANCELLED;
    const bwl_lock *lock  = bwl_lock_of(hold);
    bwl_shard      *shard = lock->shard;

    if (bwl_forked(&shard->host.guard))
        return lock->base.hold.fence; /* the thread that has the mutex may not exist here */
    bwl_shard_lock(shard);            /* a yield writes it while other threads read it */
    uint64_t fence = lock->base.hold.fence;
    bwl_shard_unlock(shard);
    return fence;
}

const char *bowline_hold_name(const bowline_hold *hold)
{
    return bwl_lock_of(hold)->base.name;
}

int bowline_hold_inherit_fds(bowline_hold *hold, int ret_fds[BOWLINE_HOLD_INHERIT_FDS_MAX])
{
    BWL_UNCANCELLED;
    bwl_lock  *lock  = bwl_lock_of(hold);
    bwl_shard *shard = lock->shard;

    if (shard->host.engine->fds == NULL || bwl_forked(&shard->host.guard))
        return 0;
    bwl_shard_lock(shard);
    int count = shard->host.engine->fds(&lock->base, ret_fds);
    bwl_shard_unlock(shard);
    return count;
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

int64_t bowline_timeout_ms(bowline_client *client)
{
    BWL_UNCANCELLED;
    if (bwl_forked(&client->first->host.guard))
        return BOWLINE_FOREVER;
    bwl_shard_lock(client->first);
    bwl_ms now = bwl_shard_now(client->first);
    bwl_ms at  = bwl_loop_next_timer(&client->first->loop);
    bwl_shard_unlock(client->first);
    if (at == BWL_NEVER)
        return BOWLINE_FOREVER;
    return at > now ? at - now : 0;
}

int bowline_dispatch(bowline_client *client, int64_t wait_ms, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_shard *inner  = client->first;
    int        status = bwl_check_fork(inner, reterr);
    bwl_ms     left_ms;

    if (status < 0 || (status = bwl_take_wait(&left_ms, inner, wait_ms, reterr)) < 0)
        return status;
    BWL_LOG_DRAINED(inner->host.settings.log);
    bwl_shard_lock(inner);
    bwl_ms until = bwl_ms_add(bwl_shard_now(inner), left_ms);
    if (client->wakeup != NULL)
        bwl_wakeup_dispatch_begins(client->wakeup);
    inner->loop.dispatchers++;
    if (!inner->loop.is_running)
        status = bwl_loop_run(&inner->loop, until, reterr);
    bwl_loop_hand_over(&inner->loop);
    inner->loop.dispatchers--;
    if (client->wakeup != NULL)
        bwl_wakeup_dispatch_ended(client->wakeup);
    bwl_shard_unlock(inner);
    return status;
}
