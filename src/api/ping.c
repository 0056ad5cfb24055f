/*
 * ping.c -- checks that the store can be reached.
 *
 * The round trip is a holder query for a reserved name, at all servers of a lock.  A Redis user may
 * have permission for locks but not for queries (bowline acl): that error on an accepted connection
 * shows that the server was reached.
 */
#include "api/who.h"
#include "api/uncancelled.h"
#include "base/fault.h"

#include <string.h>

static const char name[] = "bowline-ping";

enum { PAUSE_FIRST_MS = 20, PAUSE_MAX_MS = 1000 };

/* locked */
static int try_once(bwl_shard *shard, bowline_error *reterr)
{
    bwl_holder        holder;
    bowline_error     why;
    const bwl_engine *engine = shard->host.engine;
    int status = engine->reach != NULL ? engine->reach(&shard->host, &why) : BOWLINE_OK;

    if (status == BOWLINE_OK)
        status = bwl_ask_who(shard, name, BWL_NEVER, &holder, &why);
    if (status == BOWLINE_REFUSED && strcmp(why.server_code, "NOPERM") == 0 &&
        atomic_load(&shard->is_connected))
        return BOWLINE_OK;
    if (status < 0 && reterr != NULL)
        *reterr = why;
    return status;
}

/* locked: runs the loop until then. */
static void pause(bwl_shard *shard, bwl_ms until)
{
    bwl_completion never = { .result = BWL_PENDING };

    (void)bwl_loop_wait(&shard->loop, &never, until, NULL); /* the next try reports a failure */
}

/* locked */
static int ping(bwl_shard *shard, bwl_ms wait_ms, bowline_error *reterr)
{
    bwl_ms until = bwl_ms_add(bwl_shard_now(shard), wait_ms);
    bwl_ms by_ms = PAUSE_FIRST_MS;

    for (;;) {
        int    status = try_once(shard, reterr);
        bwl_ms now    = bwl_shard_now(shard);
        if ((status != BOWLINE_UNREACHABLE && status != BOWLINE_UNKNOWN) || now >= until)
            return status;
        pause(shard, bwl_ms_min(until, bwl_ms_add(now, by_ms)));
        by_ms = bwl_ms_min(2 * by_ms, PAUSE_MAX_MS);
    }
}

int bowline_ping(bowline_client *client, int64_t wait_ms, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_ms left_ms;

    if (client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_ping needs a client");
    bwl_shard *inner  = client->first;
    int        status = bwl_check_fork(inner, reterr);
    if (status < 0 || (status = bwl_take_wait(&left_ms, inner, wait_ms, reterr)) < 0)
        return status;
    BWL_LOG_DRAINED(inner->host.settings.log);
    bwl_shard_lock(inner);
    status = ping(inner, left_ms, reterr);
    bwl_shard_unlock(inner);
    return status;
}
