/*
 * operation.c -- started operations that are not finished: queries, waits, cancels.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "base/fault.h"

bowline_operation *bwl_operation_new(bowline_client *client, bowline_error *reterr)
{
    bowline_operation *op = bwl_client_operation_new(client);

    if (op == NULL)
        (void)bwl_fail(reterr, BWL_STATUS_NOMEM, "out of memory");
    return op;
}

/* An event loop may have started it, and is notified of its end.  It polls only the first shard: in
 * others the renewal thread reads the reply. */
bowline_operation *bwl_operation_show(bowline_operation *op, void *user)
{
    op->inner.user = user;
    bwl_operation_watch(&op->inner);
    if (bwl_shard_of_operation(op) != op->client->first)
        bwl_loop_hand_over(&bwl_shard_of_operation(op)->loop);
    return op;
}

int bowline_operation_done(bowline_operation *op)
{
    BWL_UNCANCELLED;
    bwl_shard *shard = bwl_shard_of_operation(op);

    if (bwl_forked(&shard->host.guard))
        return 1;
    bwl_shard_lock(shard);
    int done = op->inner.completion.result != BWL_PENDING;
    bwl_shard_unlock(shard);
    return done;
}

int bowline_operation_wait(bowline_operation *op, int64_t wait_ms, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_shard *shard  = bwl_shard_of_operation(op);
    int        status = bwl_check_fork(shard, reterr);
    bwl_ms     left_ms;

    if (status < 0 || (status = bwl_take_wait(&left_ms, shard, wait_ms, reterr)) < 0)
        return status;
    BWL_LOG_DRAINED(shard->host.settings.log);
    bwl_shard_lock(shard);
    bwl_ms now = bwl_shard_now(shard);
    if (left_ms == 0 && !shard->loop.is_running && op->inner.completion.result == BWL_PENDING)
        status = bwl_loop_run(&shard->loop, now, reterr);
    bwl_ms until = bwl_ms_add(now, left_ms);
    if (status == BOWLINE_OK)
        status = bwl_loop_wait(&shard->loop, &op->inner.completion, until, reterr);
    if (status == BOWLINE_TIMEOUT)
        (void)bwl_fail(reterr, BWL_STATUS_TIMEOUT, "the operation has not ended yet");
    bwl_shard_unlock(shard);
    return status;
}

void bowline_cancel(bowline_operation *op)
{
    BWL_UNCANCELLED;
    bwl_shard *shard = bwl_shard_of_operation(op);

    if (bwl_forked(&shard->host.guard))
        return;
    bwl_shard_lock(shard);
    bwl_lock_cancel(&op->inner);
    bwl_shard_unlock(shard);
}
