/*
 * close.c -- closes a client: sends its last releases to all servers in parallel, within one time
 * limit.
 */
#include "engine/redis/redis.h"

#include <stdlib.h>

enum {
    GOODBYE_MS   = 200, /* for all servers together */
    SLICE_MAX_MS = 50,
};

/* Waits until a session is ready for I/O.  Returns how many connections are open, up to the
 * limit. */
static unsigned wait_for_one(bwl_session *first, bwl_ms wait_ms)
{
    bwl_stream *open[BWL_STREAM_WAIT_MAX];
    unsigned    count = 0;

    for (bwl_session *each = first; each != NULL && count < BWL_STREAM_WAIT_MAX; each = each->next)
        if (bwl_stream_is_open(&each->link.conn.stream))
            open[count++] = &each->link.conn.stream;
    if (count > 0)
        bwl_stream_wait(open, count, wait_ms < SLICE_MAX_MS ? wait_ms : SLICE_MAX_MS);
    return count;
}

/* A hold whose release could not be sent ends with its lease. */
static void say_goodbye(bwl_redis *redis)
{
    bwl_host *host = redis->router.host;
    bwl_ms    end  = bwl_ms_add(bwl_host_now(host), GOODBYE_MS);
    unsigned  left;

    for (bwl_session *each = redis->router.sessions; each != NULL; each = each->next)
        bwl_session_say_goodbye(each);
    do {
        for (bwl_session *each = redis->router.sessions; each != NULL; each = each->next)
            if (bwl_stream_is_open(&each->link.conn.stream) && bwl_session_finish_goodbye(each))
                bwl_stream_close(&each->link.conn.stream);
        bwl_ms now = bwl_host_now(host);
        left       = now < end ? wait_for_one(redis->router.sessions, end - now) : 0;
    } while (left > 0);
}

void bwl_redis_close(bwl_host *host)
{
    bwl_redis *redis = host->store;

    if (redis == NULL)
        return;
    if (host->closing)
        say_goodbye(redis);
    bwl_router_free(&redis->router);
    free(redis->waiters.waiters);
    free(redis);
    host->store = NULL;
}
