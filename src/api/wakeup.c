/*
 * wakeup.c -- how an event loop is told that there is something to dispatch.
 */
#include "api/handles.h"
#include "api/uncancelled.h"
#include "runtime/wakeup.h"
#include "base/fault.h"

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
