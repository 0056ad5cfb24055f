/*
 * close.c -- the end of a client: its last releases go out to all servers at the same time, within
 * one time limit.
 */
#include "engine/redis/redis.h"

#include <poll.h>
#include <stdlib.h>

enum {
    GOODBYE_MS   = 200, /* for all servers together */
    POLL_MAX     = 64,  /* sessions in one round of poll(2) */
    SLICE_MAX_MS = 50,
};

/* Waits until one of them can go on.  How many are left. */
static unsigned poll_round(bwl_session *first, bwl_ms wait_ms)
{
    struct pollfd events[POLL_MAX];
    unsigned      count = 0;

    for (bwl_session *each = first; each != NULL && count < POLL_MAX; each = each->next) {
        const bwl_stream *stream = &each->link.conn.stream;
        if (bwl_stream_is_open(stream))
            events[count++] =
                (struct pollfd){ .fd     = stream->source.fd,
                                 .events = (short)(stream->out_size > 0 ? POLLOUT : POLLIN) };
    }
    if (count > 0)
        (void)poll(events, count, (int)(wait_ms < SLICE_MAX_MS ? wait_ms : SLICE_MAX_MS));
    return count;
}

/* What was not sent by then ends with its lease. */
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
        left       = now < end ? poll_round(redis->router.sessions, end - now) : 0;
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
