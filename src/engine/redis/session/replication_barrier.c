/*
 * replication_barrier.c -- waits until the replicas have the writes: one WAIT at a time, shared by
 * all locks that need it.  See inside.h, protocol/replicated.c.
 *
 * WAIT covers everything that the connection has written before it, and the server reads nothing
 * from that connection until WAIT ends.  Other requests may be delayed for the duration of one
 * WAIT; two in a row would double that.  A request that comes while a WAIT is in flight is deferred
 * until its reply; then all deferred ones share the next WAIT.
 *
 *      submitted --none in flight--> sent --reply--> all that were deferred are sent as one
 *                  |--one in flight--> deferred
 *                  `--no connection: NOT_SENT.  A new connection has written nothing to wait for
 */
#include "engine/redis/session/inside.h"

enum {
    BATCH_SIZE_MAX = 250, /* the maximum of bwl_request_batch.size */
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
        !bwl_pipeline_push(&session->barrier.deferred, request)) {
        bwl_host_pin(request->lock);
        answer_not_sent(session, request);
    }
    return false;
}

void bwl_barrier_over(bwl_session *session, const bwl_request *over)
{
    bwl_session_transaction *barrier = &session->barrier;

    if (!bwl_request_is_barrier(over) || barrier->out == 0 || --barrier->out > 0)
        return; /* the connection was lost, or some are not completed yet */
    while (barrier->deferred.count > 0) {
        bwl_request request = bwl_pipeline_pop(&barrier->deferred);
        if (bwl_pipeline_push(&session->pipeline, &request)) {
            barrier->out++;
            bwl_host_unpin(request.lock); /* appending pinned it a second time */
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
    return (bwl_redis_command_args){ .command  = request->command,
                                     .number   = request->number,
                                     .lease_ms = request->lease_ms };
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
    case BWL_REDIS_NOSCRIPT: reply.answer = BWL_REFUSED; break; /* WAIT is not a script */
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

    (void)bwl_redis_read(&args, 0, bytes, size, &reply); /* cannot fail: it was read before */
    bwl_host_set_error(request->lock,
                       "%s: %llu replicas acknowledged it in time, and sync=%lld needs more: "
                       "INFO replication there lists its replicas",
                       session->endpoint.text, (unsigned long long)reply.number,
                       (long long)request->number);
}
