/*
 * batch.c -- several requests as one command: renewals, heartbeats or TAKE as one call of a script,
 * and WAIT.  See inside.h.
 *
 * Thousands of holds or waiters may be due at about the same time, and a caller may want several
 * locks at once.  Adjacent requests in the pipeline that may share a call are written as one
 * command, and its reply is split into their answers.  The layers above see separate requests.
 *
 * One failure must not fail the others.  The script's result for a key is that request's answer.
 * If the server refuses the whole call, a single key that an ACL forbids may be the cause: then
 * each request is sent again alone, and one that is refused alone is not batched until it succeeds.
 * After a second refusal in a row, the script itself is assumed to be forbidden: no more batches on
 * this connection.  (A redirect of a cluster is no refusal.)
 *
 * WAIT waits until the replicas have the writes, for all locks that need it: see
 * protocol/replicated.c.
 * It covers everything that the connection has written before it, and the server reads nothing
 * from that connection until WAIT ends.  Other requests may be delayed for the duration of one
 * WAIT; two in a row would double that.  A request that comes while a WAIT is in flight is deferred
 * until its reply; then all deferred ones share the next WAIT.
 *
 *      submitted --none in flight--> sent --reply--> all that were deferred are sent as one
 *                  |--one in flight--> deferred
 *                  `--no connection: NOT_SENT.  A new connection has written nothing to wait for
 */
#include "engine/redis/session/inside.h"
#include "engine/redis/wire/key.h"

#include <string.h>

enum {
    REFUSALS_MAX   = 2,
    BATCH_SIZE_MAX = 250, /* the maximum of bwl_request_batch.size */
    ROOM           = 128, /* for WAIT */
};

/* ---- WAIT ------------------------------------------------------------------------------------ */

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

static size_t barrier_size(const bwl_session *session, size_t nth)
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

static bool barrier_write(bwl_session *session, size_t nth, size_t size)
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

static bwl_redis_verdict on_barrier_reply(bwl_session *session, const char *bytes, size_t size)
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

/* ---- renewals, heartbeats, TAKE -------------------------------------------------------------- */

/* Whether a request may be batched. */
static bool may_share(const bwl_request *q)
{
    return bwl_batch_takes(q->command, q->number) && q->kind->is_alone != NULL &&
           !*q->kind->is_alone(q);
}

/* Whether two requests may share a call.  Their keys are on the same server; in a cluster they have
 * to be in one slot. */
static bool are_alike(const bwl_session *session, const bwl_request *a, const bwl_request *b)
{
    const bwl_session_slots *slots = session->owner->slots;

    return a->command == b->command && a->lease_ms == b->lease_ms &&
           (slots == NULL || slots->may_share(session, a, b));
}

size_t bwl_batch_size(const bwl_session *session, size_t nth)
{
    const bwl_request *first = bwl_pipeline_at(&session->pipeline, nth);
    size_t             size  = 1;

    if (bwl_request_is_barrier(first))
        return barrier_size(session, nth);
    if (session->host->closing || session->batches_refused >= REFUSALS_MAX || !may_share(first))
        return 1;
    while (size < BWL_BATCH_MAX && nth + size < session->pipeline.count) {
        const bwl_request *next = bwl_pipeline_at(&session->pipeline, nth + size);
        if (!may_share(next) || !are_alike(session, first, next))
            break;
        size++;
    }
    return size < bwl_batch_min(first->command) ? 1 : size;
}

static size_t write_key(char ret_key[BWL_KEY_MAX], const bwl_session *session,
                        const bwl_engine_lock *lock)
{
    return bwl_key_write(ret_key, session->config->key_template, lock->name, lock->name_size);
}

/* Whether one of them needs the script's text. */
static bool uses_eval(const bwl_session *session, size_t nth, size_t size)
{
    for (size_t i = nth; i < nth + size; i++)
        if (bwl_pipeline_at(&session->pipeline, i)->use_eval)
            return true;
    return false;
}

/* An extension needs only its session. */
static bwl_queue_self self_of(bwl_session *session, const bwl_request *q)
{
    bwl_queue_self self = { .slot = 0 };

    if (q->command == REDIS_QUEUE_HEARTBEAT || q->command == REDIS_QUEUE_TAKE)
        return q->kind->self(session, q);
    memcpy(self.session, session->push.id, sizeof self.session);
    return self;
}

static void write_call(bwl_session *session, size_t nth, size_t size, bwl_resp_writer *writer)
{
    const bwl_request     *first = bwl_pipeline_at(&session->pipeline, nth);
    bwl_queue_self         self  = self_of(session, first);
    char                   key[BWL_KEY_MAX];
    bwl_redis_command_args args = { .command  = first->command,
                                    .use_eval = uses_eval(session, nth, size),
                                    .key      = key,
                                    .self     = &self };

    bwl_batch_write(writer, &args, (unsigned)size);
    for (size_t i = nth; i < nth + size; i++) {
        args.key_size = write_key(key, session, bwl_pipeline_at(&session->pipeline, i)->lock);
        bwl_batch_write_keys(writer, &args);
    }
    for (size_t i = nth; i < nth + size; i++) {
        const bwl_request *q = bwl_pipeline_at(&session->pipeline, i);
        args.token           = q->token;
        args.number          = q->number;
        args.rules           = q->lock->hold.request.options->rules;
        if (q->command == REDIS_QUEUE_HEARTBEAT)
            self = self_of(session, q);
        bwl_batch_write_arguments(writer, &args);
    }
    if (first->command != REDIS_QUEUE_HEARTBEAT)
        bwl_resp_write_integer(writer, first->lease_ms);
}

bool bwl_batch_send(bwl_session *session, size_t nth, size_t size)
{
    char            key[BWL_KEY_MAX];
    size_t          keys_size = 0;
    bwl_resp_writer writer;

    if (bwl_request_is_barrier(bwl_pipeline_at(&session->pipeline, nth)))
        return barrier_write(session, nth, size);
    assert(size > 1);
    assert(size <= BWL_BATCH_MAX);
    for (size_t i = nth; i < nth + size; i++)
        keys_size += write_key(key, session, bwl_pipeline_at(&session->pipeline, i)->lock);
    size_t size_max = bwl_batch_size_max(bwl_pipeline_at(&session->pipeline, nth)->command,
                                         (unsigned)size, keys_size);
    if (!bwl_resp_stream_reserve(&session->link.conn, size_max, &writer))
        return false;
    write_call(session, nth, size, &writer);
    bwl_pipeline_mark_batch(&session->pipeline, nth, size, session->link.conn.stream.written,
                            session->host->latest);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static void answer_each(bwl_session *session, const bwl_batch_reply *reply)
{
    size_t size = bwl_pipeline_at(&session->pipeline, 0)->batch.size;

    for (size_t i = 0; i < size; i++) {
        bwl_request *q        = bwl_pipeline_at(&session->pipeline, i);
        q->batch.known        = reply->answers[i];
        q->batch.status       = reply->statuses[i];
        q->batch.fence        = reply->fences[i];
        q->batch.again        = q->batch.known == 0;
        *q->kind->is_alone(q) = q->batch.again;
    }
}

static void answer_all(bwl_session *session, bwl_answer answer)
{
    size_t size = bwl_pipeline_at(&session->pipeline, 0)->batch.size;

    for (size_t i = 0; i < size; i++)
        bwl_pipeline_at(&session->pipeline, i)->batch.known = answer;
}

/* Each alone; use_eval: all together, with the text of the script. */
static void retry_all(bwl_session *session, bool use_eval)
{
    size_t size = bwl_pipeline_at(&session->pipeline, 0)->batch.size;

    for (size_t i = 0; i < size; i++) {
        bwl_request *q        = bwl_pipeline_at(&session->pipeline, i);
        q->batch.again        = true;
        q->use_eval           = use_eval;
        *q->kind->is_alone(q) = !use_eval;
    }
}

bwl_redis_verdict bwl_batch_on_reply(bwl_session *session, const char *bytes, size_t size)
{
    const bwl_request *first = bwl_pipeline_at(&session->pipeline, 0);
    bwl_batch_reply    reply;
    bool               is_new;

    if (bwl_request_is_barrier(first))
        return on_barrier_reply(session, bytes, size);
    assert(first->batch.size > 1);
    switch (bwl_batch_read(first->command, first->batch.size, bytes, size, &reply)) {
    case BWL_BATCH_EACH:
        session->batches_refused = 0;
        answer_each(session, &reply);
        return BWL_REDIS_ANSWER;
    case BWL_BATCH_RETRYABLE: answer_all(session, BWL_RETRYABLE); return BWL_REDIS_ANSWER;
    case BWL_BATCH_NOSCRIPT: /* still unknown after the text was sent: refused */
        is_new = !uses_eval(session, 0, first->batch.size);
        session->batches_refused += is_new ? 0 : 1;
        retry_all(session, is_new);
        return BWL_REDIS_ANSWER;
    case BWL_BATCH_ALONE:
        session->batches_refused++;
        retry_all(session, false);
        return BWL_REDIS_ANSWER;
    case BWL_BATCH_ELSEWHERE: retry_all(session, false); return BWL_REDIS_ANSWER;
    case BWL_BATCH_STRANGE: return BWL_REDIS_STRANGE;
    }
    bwl_unreachable("a verdict outside of its enum");
}

void bwl_batch_learn(const bwl_request *q, bwl_answer answer)
{
    if (bwl_batch_takes(q->command, q->number) && q->kind->is_alone != NULL &&
        (answer == BWL_YES || answer == BWL_NO || answer == BWL_REFUSED))
        *q->kind->is_alone(q) = answer == BWL_REFUSED;
}
