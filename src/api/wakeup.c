/*
 * wakeup.c -- how an event loop is told that there is something to dispatch.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "runtime/wakeup.h"
#include "base/fault.h"

/* An event loop has one descriptor to look at, which is that of the first lane: the others have
 * keepers.  What they have to tell, they ring for. */
static int add_all(bowline_client *client, bwl_bell *bell, bowline_error *reterr)
{
    bwl_client *lane;
    int         status = bwl_bell_watch(bell, client->inner, reterr);

    for (unsigned i = 1; status == BOWLINE_OK && (lane = bwl_lane_at(client, i)) != NULL; i++) {
        bwl_client_lock(lane);
        lane->bell = bell;
        bwl_client_unlock(lane);
    }
    return status;
}

/* The bell of the client, made by the first call. */
static int need_bell(bowline_client *client, bowline_error *reterr)
{
    int       status = bwl_check_fork(client->inner, reterr);
    bwl_bell *bell   = NULL;

    if (status < 0)
        return status;
    bwl_lanes_keep_to_first(&client->lanes);
    bwl_client_lock(client->inner);
    if (client->bell == NULL) {
        status = bwl_bell_new(&bell, reterr);
        if (status == BOWLINE_OK)
            status = add_all(client, bell, reterr);
        if (status == BOWLINE_OK)
            client->bell = bell;
        else
            bwl_bell_free(bell);
    }
    bwl_client_unlock(client->inner);
    return status;
}

int bowline_fd(bowline_client *client)
{
    BWL_UNCANCELLED;
    int status = need_bell(client, NULL);

    return status < 0 ? status : bwl_bell_fd(client->bell);
}

int bowline_wakeup_fd(bowline_client *client, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    if (client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_wakeup_fd needs a client");
    int status = need_bell(client, reterr);

    return status < 0 ? status : bwl_bell_pipe(client->bell, reterr);
}
