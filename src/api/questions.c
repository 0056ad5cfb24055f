/*
 * questions.c -- what can be asked of a hold and of a client, and driving a client from another
 * loop.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "core/text.h"
#include "runtime/wakeup.h"
#include "base/fault.h"

#include <string.h>

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
        return lock->base.hold.fence; /* the thread that had the mutex may not exist here */
    bwl_shard_lock(shard);            /* a yield writes it while other threads ask */
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
