/*
 * events.c -- the next event of a client, and the caller's data of holds and operations.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "base/fault.h"

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
    BWL_UNCANCELLED;
    bwl_shard *shard;
    bool       taken = false;

    if (client == NULL || ret_event == NULL || ret_event->size != sizeof *ret_event)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_next_event needs a client, and a place for the event whose size "
                        "field is sizeof(bowline_event)");
    int status = bwl_check_fork(client->first, reterr);
    if (status < 0)
        return status;
    BWL_LOG_DRAINED(client->first->host.settings.log);
    for (unsigned i = 0; !taken && (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_shard_lock(shard);
        bwl_event_queue_subscribe(shard);
        taken = take(shard, ret_event);
        bwl_shard_unlock(shard);
    }
    return taken ? 1 : 0;
}

/* In a forked child no call may wait for the mutex: a thread that does not exist may have it. */
static void set(bwl_shard *shard, void **where, void *data)
{
    bool is_ours = !bwl_forked(&shard->host.guard);

    if (is_ours)
        bwl_shard_lock(shard);
    *where = data;
    if (is_ours)
        bwl_shard_unlock(shard);
}

static void *get(bwl_shard *shard, void *const *where)
{
    bool is_ours = !bwl_forked(&shard->host.guard);

    if (is_ours)
        bwl_shard_lock(shard);
    void *data = *where;
    if (is_ours)
        bwl_shard_unlock(shard);
    return data;
}

void bowline_hold_set_data(bowline_hold *hold, void *data)
{
    set(bwl_lock_of(hold)->shard, &bwl_lock_of(hold)->user, data);
}

void *bowline_hold_data(const bowline_hold *hold)
{
    return get(bwl_lock_of(hold)->shard, &bwl_lock_of(hold)->user);
}

void bowline_operation_set_data(bowline_operation *op, void *data)
{
    set(bwl_shard_of_operation(op), &op->inner.user, data);
}

void *bowline_operation_data(const bowline_operation *op)
{
    return get(bwl_shard_of_operation(op), &op->inner.user);
}
