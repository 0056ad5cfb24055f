#include "runtime/client.h"
#include "base/fault.h"
#include "runtime/wakeup.h"

#include <stdio.h>
#include <stdlib.h>

int bwl_client_open(bwl_client **ret_client, const bwl_engine *const *engines,
                    const bwl_settings *asked, bool renewal_off, const char *url,
                    const char *program, bwl_fault *fault)
{
    bwl_client *client = calloc(1, sizeof *client);

    if (client == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    int status = bwl_shard_open(&client->first, engines, asked, renewal_off, url, fault);
    if (status < 0) {
        free(client);
        return status;
    }
    client->first->client = client;
    bwl_shards_init(&client->shards, client->first);
    bwl_pool_init(&client->pool, client->first);
    (void)pthread_mutex_init(&client->mutex, NULL); /* of the default kind: cannot fail */
    if (program != NULL)
        (void)snprintf(client->first->host.program, sizeof client->first->host.program, "%s",
                       program); /* truncates */
    *ret_client = client;
    return BWL_OK;
}

void bwl_client_close(bwl_client *client)
{
    bool is_ours = !bwl_forked(&client->first->host.guard);

    if (client->wakeup != NULL && is_ours)
        bwl_wakeup_stop(client->wakeup);
    bwl_pool_close(&client->pool);
    bwl_shards_close(&client->shards);
    bwl_wakeup_free(client->wakeup);
    while ((is_ours || bwl_was_at_rest(&client->mutex)) && client->operations != NULL) {
        bwl_started_operation *op = client->operations;
        client->operations        = op->next;
        free(op);
    }
    (void)pthread_mutex_destroy(&client->mutex);
    free(client);
}

/* With the mutex of the first shard.  The other shards have renewal threads, and only raise the
 * wakeup. */
static int attach(bwl_client *client, bwl_wakeup *wakeup, bwl_fault *fault)
{
    bwl_shard *shard;
    int        status = bwl_loop_attach_wakeup(&client->first->loop, wakeup, fault);

    for (unsigned i = 1; status == BWL_OK && (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_shard_lock(shard);
        shard->loop.wakeup = wakeup;
        bwl_shard_unlock(shard);
    }
    return status;
}

int bwl_client_need_wakeup(bwl_client *client, bwl_fault *fault)
{
    bwl_wakeup *wakeup = NULL;
    int         status = BWL_OK;

    bwl_shards_use_first_only(&client->shards);
    bwl_shard_lock(client->first);
    if (client->wakeup == NULL) {
        status = bwl_wakeup_new(&wakeup, fault);
        if (status == BWL_OK)
            status = attach(client, wakeup, fault);
        if (status == BWL_OK)
            client->wakeup = wakeup;
        else
            bwl_wakeup_free(wakeup);
    }
    bwl_shard_unlock(client->first);
    return status;
}

int bwl_client_operation_new(bwl_started_operation **ret_op, bwl_client *client, bwl_fault *fault)
{
    bwl_started_operation *op = calloc(1, sizeof *op);

    if (op == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    bwl_shards_use_first_only(&client->shards); /* the caller may have an event loop */
    op->client = client;
    (void)pthread_mutex_lock(&client->mutex);
    op->next = client->operations;
    if (op->next != NULL)
        op->next->previous = op;
    client->operations = op;
    (void)pthread_mutex_unlock(&client->mutex);
    *ret_op = op;
    return BWL_OK;
}

void bwl_client_operation_free(bwl_started_operation *op)
{
    bwl_client *client = op->client;

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
