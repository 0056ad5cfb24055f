/*
 * renewal_batch.c -- several renewals as one call of a script.  See inside.h.
 *
 * Thousands of holds may be due at about the same time.  Adjacent requests in the pipeline that may
 * share a call are written as one command, and its reply is split into their answers.  The layers
 * above see separate requests.
 *
 * One failure must not fail the others.  The script's result for a key is that request's answer.
 * If the server refuses the whole call, a single key that an ACL forbids may be the cause: then
 * each request is sent again alone, and one that is refused alone is not batched until it succeeds.
 * After a second refusal in a row, the script itself is assumed to be forbidden: no more batches on
 * this connection.
 */
#include "engine/redis/session/inside.h"
#include "engine/redis/wire/key.h"

#include <string.h>

enum { REFUSALS_MAX = 2 };

/* Whether a request may be batched. */
static bool may_share(const bwl_request *q)
{
    return bwl_batch_takes(q->command) && q->kind->is_alone != NULL && !*q->kind->is_alone(q);
}

/* Whether two requests may share a call.  Their keys are on the same server.  (In a cluster they
 * would have to be in one slot: there are no batches.) */
static bool are_alike(const bwl_request *a, const bwl_request *b)
{
    return a->command == b->command && a->lease_ms == b->lease_ms;
}

size_t bwl_batch_size(const bwl_session *session, size_t nth)
{
    const bwl_request *first = bwl_pipeline_at(&session->pipeline, nth);
    size_t             size  = 1;

    if (bwl_request_is_barrier(first))
        return bwl_barrier_size(session, nth);
    if (session->host->closing || session->config->topology == BWL_TOPOLOGY_CLUSTER ||
        session->batches_refused >= REFUSALS_MAX || !may_share(first))
        return 1;
    while (size < BWL_BATCH_MAX && nth + size < session->pipeline.count) {
        const bwl_request *next = bwl_pipeline_at(&session->pipeline, nth + size);
        if (!may_share(next) || !are_alike(first, next))
            break;
        size++;
    }
    return size < BWL_BATCH_MIN ? 1 : size;
}

static void write_value(const bwl_session *session, const bwl_request *q, bwl_resp_writer *writer)
{
    bwl_queue_self self; /* an extension needs only its session */

    memcpy(self.session, session->push.id, sizeof self.session);
    bwl_redis_write_value(writer, &(bwl_redis_command_args){
                                      .command = q->command,
                                      .token   = q->token,
                                      .number  = q->number,
                                      .rules   = q->lock->hold.request.options->rules,
                                      .self    = &self,
                                  });
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

static void write_call(bwl_session *session, size_t nth, size_t size, bwl_resp_writer *writer)
{
    char key[BWL_KEY_MAX];

    bwl_batch_write_begin(writer, (unsigned)size, uses_eval(session, nth, size));
    for (size_t i = nth; i < nth + size; i++) {
        size_t key_size = write_key(key, session, bwl_pipeline_at(&session->pipeline, i)->lock);
        bwl_resp_write_bulk(writer, key, key_size);
    }
    for (size_t i = nth; i < nth + size; i++)
        write_value(session, bwl_pipeline_at(&session->pipeline, i), writer);
    bwl_resp_write_integer(writer, bwl_pipeline_at(&session->pipeline, nth)->lease_ms);
}

bool bwl_batch_write(bwl_session *session, size_t nth, size_t size)
{
    char            key[BWL_KEY_MAX];
    size_t          keys_size = 0;
    bwl_resp_writer writer;

    if (bwl_request_is_barrier(bwl_pipeline_at(&session->pipeline, nth)))
        return bwl_barrier_write(session, nth, size);
    assert(size >= BWL_BATCH_MIN);
    assert(size <= BWL_BATCH_MAX);
    for (size_t i = nth; i < nth + size; i++)
        keys_size += write_key(key, session, bwl_pipeline_at(&session->pipeline, i)->lock);
    if (!bwl_resp_stream_reserve(&session->link.conn, bwl_batch_size_max((unsigned)size, keys_size),
                                 &writer))
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

static void retry_all_alone(bwl_session *session, bool use_eval)
{
    size_t size = bwl_pipeline_at(&session->pipeline, 0)->batch.size;

    session->batches_refused += use_eval ? 0 : 1;
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

    if (bwl_request_is_barrier(first))
        return bwl_barrier_on_reply(session, bytes, size);
    assert(first->batch.size >= BWL_BATCH_MIN);
    switch (bwl_batch_read(first->batch.size, bytes, size, &reply)) {
    case BWL_BATCH_EACH:
        session->batches_refused = 0;
        answer_each(session, &reply);
        return BWL_REDIS_ANSWER;
    case BWL_BATCH_RETRYABLE: answer_all(session, BWL_RETRYABLE); return BWL_REDIS_ANSWER;
    case BWL_BATCH_ALONE: retry_all_alone(session, false); return BWL_REDIS_ANSWER;
    case BWL_BATCH_NOSCRIPT: /* still unknown after the text was sent: alone */
        retry_all_alone(session, !uses_eval(session, 0, first->batch.size));
        return BWL_REDIS_ANSWER;
    case BWL_BATCH_STRANGE: return BWL_REDIS_STRANGE;
    }
    bwl_unreachable("a verdict outside of its enum");
}

void bwl_batch_learn(const bwl_request *q, bwl_answer answer)
{
    if (bwl_batch_takes(q->command) && q->kind->is_alone != NULL &&
        (answer == BWL_YES || answer == BWL_REFUSED))
        *q->kind->is_alone(q) = answer == BWL_REFUSED;
}
