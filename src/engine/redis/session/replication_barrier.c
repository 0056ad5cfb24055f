/*
 * replication_barrier.c -- do the replicas have it?  One WAIT at a time, for all locks that want to
 * know.  See sections.h, protocol/replicated.c.
 *
 * WAIT is about all that the connection has written before it, and while the server waits it reads
 * nothing more from that connection.  Other requests may be delayed for as long as one WAIT takes;
 * two WAITs in a row would delay them twice as long.  A request that comes while one WAIT is in
 * flight is deferred until its reply; then all deferred ones share the next WAIT.
 *
 *      submitted --none in flight--> sent --reply--> all that were deferred are sent as one
 *                  |--one in flight--> deferred
 *                  `--no connection: NOT_SENT.  On the next one, nothing would have been written
 */
#include "engine/redis/session/sections.h"

enum {
    BATCH_SIZE_MAX = 250, /* what bwl_request_batch can count */
    ROOM           = 128,
};

bool bwl_request_is_barrier(const bwl_request *request)
{
    return request->command == REDIS_REPLICATED;
}

static void answer_not_sent(bwl_session *session, const bwl_request *request)
{
    bwl_host_set_error(request->lock, "the connection to %s broke", session->endpoint.text);
    bwl_request_answer(session, request, BWL_NOT_SENT);
}

bool bwl_barrier_admits(bwl_session *session, const bwl_request *request)
{
    if (!bwl_request_is_barrier(request))
        return true;
    if (session->phase == BWL_SESSION_READY && session->barrier.out == 0) {
        session->barrier.out = 1;
        return true;
    }
    if (session->phase != BWL_SESSION_READY ||
        !bwl_request_keep(&session->barrier.deferred, request)) {
        bwl_host_pin(request->lock);
        answer_not_sent(session, request);
    }
    return false;
}

void bwl_barrier_over(bwl_session *session, const bwl_request *over)
{
    bwl_session_transaction *barrier = &session->barrier;

    if (!bwl_request_is_barrier(over) || barrier->out == 0 || --barrier->out > 0)
        return; /* the connection has ended with the others; or some are not completed yet */
    while (barrier->deferred.count > 0) {
        bwl_request request = bwl_request_take(&barrier->deferred, 0);
        if (bwl_pipeline_push(&session->pipeline, &request)) {
            barrier->out++;
            bwl_host_unpin(request.lock); /* appending has pinned it once more */
        } else {
            answer_not_sent(session, &request);
        }
    }
}

size_t bwl_barrier_size(const bwl_session *session, size_t nth)
{
    size_t size = 1;

    while (size < BATCH_SIZE_MAX && nth + size < session->pipeline.count &&
           bwl_request_is_barrier(bwl_pipeline_at(&session->pipeline, nth + size)))
        size++;
    return size;
}

static bwl_redis_command_args words_of(const bwl_request *request)
{
    return (bwl_redis_command_args){ .command   = request->command,
                                     .timestamp = request->timestamp,
                                     .lease_ms  = request->lease_ms };
}

bool bwl_barrier_write(bwl_session *session, size_t nth, size_t size)
{
    bwl_redis_command_args args = words_of(bwl_pipeline_at(&session->pipeline, nth));
    bwl_resp_writer        writer;

    assert(size <= BATCH_SIZE_MAX);
    if (!bwl_resp_stream_reserve(&session->link.conn, ROOM, &writer))
        return false;
    bwl_redis_write(&writer, &args);
    bwl_pipeline_mark_batch(&session->pipeline, nth, size, session->link.conn.stream.written,
                            session->host->latest);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

bwl_redis_verdict bwl_barrier_on_reply(bwl_session *session, const char *bytes, size_t size)
{
    const bwl_request     *first    = bwl_pipeline_at(&session->pipeline, 0);
    bwl_redis_command_args args     = words_of(first);
    size_t                 together = first->batch.size;
    bwl_redis_reply        reply;

    switch (bwl_redis_read(&args, 0, bytes, size, &reply)) {
    case BWL_REDIS_STRANGE: return BWL_REDIS_STRANGE;
    case BWL_REDIS_NOSCRIPT: reply.answer = BWL_REFUSED; break; /* WAIT is no script */
    case BWL_REDIS_ANSWER: break;
    }
    for (size_t i = 0; i < together; i++)
        bwl_pipeline_at(&session->pipeline, i)->batch.known = reply.answer;
    return BWL_REDIS_ANSWER;
}

void bwl_barrier_set_error(bwl_session *session, const bwl_request *request, const char *bytes,
                           size_t size)
{
    bwl_redis_command_args args = words_of(request);
    bwl_redis_reply        reply;

    (void)bwl_redis_read(&args, 0, bytes, size, &reply); /* read before: it is a number */
    bwl_host_set_error(request->lock,
                       "%s: %llu of the replicas had it in time, and sync=%lld asks for more: "
                       "INFO replication there says which it has",
                       session->endpoint.text, (unsigned long long)reply.number,
                       (long long)request->timestamp);
}
