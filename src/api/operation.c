/*
 * operation.c -- an operation that was started and is not finished: shown to the caller, looked at,
 * waited for, cancelled.
 */
#include "api/handles.h"
#include "api/describe.h"
#include "api/uncancelled.h"
#include "runtime/loop.h"
#include "base/fault.h"
#include "runtime/renewal_thread.h"

#include <stdlib.h>

bowline_operation *bwl_operation_new(bowline_client *client, bowline_error *reterr)
{
    bowline_operation *op = calloc(1, sizeof *op);

    if (op == NULL) {
        (void)bwl_fail(reterr, BWL_STATUS_NOMEM, "out of memory");
        return NULL;
    }
    bwl_lanes_keep_to_first(&client->lanes); /* there may be an event loop that looks there */
    op->client = client;
    (void)pthread_mutex_lock(&client->mutex);
    op->next = client->operations;
    if (op->next != NULL)
        op->next->previous = op;
    client->operations = op;
    (void)pthread_mutex_unlock(&client->mutex);
    return op;
}

/* Whoever started it may be an event loop: to be told of its end.  That does not look into lanes
 * other than the first: there the keeper reads the answer. */
bowline_operation *bwl_operation_show(bowline_operation *op, void *user)
{
    op->inner.user = user;
    bwl_operation_watch(&op->inner);
    if (bwl_lane_of(op) != op->client->inner)
        bwl_hand_over(bwl_lane_of(op));
    return op;
}

void bwl_operation_begun(bowline_operation **ret_op, bowline_operation *op, int status)
{
    if (status == BOWLINE_OK) {
        bwl_lock_pin(op->inner.lock); /* it may be finished after the hold was released */
        *ret_op = bwl_operation_show(op, op->inner.lock->user);
    } else if (op != NULL) {
        bwl_operation_free(op);
    }
}

void bwl_operation_free(bowline_operation *op)
{
    bowline_client *client = op->client;

    (void)pthread_mutex_lock(&client->mutex);
    if (op->next != NULL)
        op->next->previous = op->previous;
    if (op->previous != NULL)
        op->previous->next = op->next;
    else
        client->operations = op->next;
    (void)pthread_mutex_unlock(&client->mutex);
    free(op);
}

/* ---- what the caller does with it ------------------------------------------------------------ */

int bowline_operation_done(bowline_operation *op)
{
    BWL_UNCANCELLED;
    bwl_client *client = bwl_lane_of(op);

    if (bwl_forked(&client->host.guard))
        return 1;
    bwl_client_lock(client);
    int done = op->inner.ended != BWL_PENDING;
    bwl_client_unlock(client);
    return done;
}

int bowline_operation_wait(bowline_operation *op, int64_t wait_ms, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_client *client = bwl_lane_of(op);
    int         status = bwl_check_fork(client, reterr);
    bwl_ms      left_ms;

    if (status < 0 || (status = bwl_take_wait(&left_ms, client, wait_ms, reterr)) < 0)
        return status;
    BWL_LOG_DRAINED(client->host.settings.log);
    bwl_client_lock(client);
    bwl_ms now = bwl_client_now(client);
    if (left_ms == 0 && !client->driving && op->inner.ended == BWL_PENDING)
        status = bwl_client_drive(client, now, reterr);
    bwl_ms until = bwl_later(now, left_ms);
    if (status == BOWLINE_OK)
        status = bwl_client_wait(client, &op->inner, until, reterr);
    if (status == BOWLINE_TIMEOUT)
        (void)bwl_fail(reterr, BWL_STATUS_TIMEOUT, "the operation has not ended yet");
    bwl_client_unlock(client);
    return status;
}

void bowline_cancel(bowline_operation *op)
{
    BWL_UNCANCELLED;
    bwl_client *client = bwl_lane_of(op);

    if (bwl_forked(&client->host.guard))
        return;
    bwl_client_lock(client);
    bwl_lock_cancel(&op->inner);
    bwl_client_unlock(client);
}
