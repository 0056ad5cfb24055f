/*
 * wakeup.c -- how an event loop is told that there is something to dispatch.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "runtime/wakeup.h"
#include "base/fault.h"

/* An event loop has one descriptor to look at, which is that of the first lane: the others have
 * keepers.  What they have to tell, they ring for. */
static int add_all(bowline_client *client, bwl_wakeup *wakeup, bowline_error *reterr)
{
    bwl_shard *shard;
    int        status = bwl_loop_attach_wakeup(&client->inner->loop, wakeup, reterr);

    for (unsigned i = 1; status == BOWLINE_OK && (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_shard_lock(shard);
        shard->loop.wakeup = wakeup;
        bwl_shard_unlock(shard);
    }
    return status;
}

/* The bell of the client, made by the first call. */
static int need_wakeup(bowline_client *client, bowline_error *reterr)
{
    int         status = bwl_check_fork(client->inner, reterr);
    bwl_wakeup *wakeup = NULL;

    if (status < 0)
        return status;
    bwl_shards_use_first_only(&client->shards);
    bwl_shard_lock(client->inner);
    if (client->wakeup == NULL) {
        status = bwl_wakeup_new(&wakeup, reterr);
        if (status == BOWLINE_OK)
            status = add_all(client, wakeup, reterr);
        if (status == BOWLINE_OK)
            client->wakeup = wakeup;
        else
            bwl_wakeup_free(wakeup);
    }
    bwl_shard_unlock(client->inner);
    return status;
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
