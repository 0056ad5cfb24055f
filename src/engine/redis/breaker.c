/*
 * breaker.c -- by whom a hold was released by force, for another client than its holder.
 *
 *      bowline_who --> value, remembered       breaker:  note, RELEASE
 *      bowline_broken_by(id) --> the value with this id --> HGET of the note
 *
 * The note of force_release.c is found by the session and the token of the hold.  A program has
 * only the id of a hold, which is a hash: it is shown to people, and a token is a secret.  So the
 * client remembers the values of the last holds that it has reported.
 */
#include "core/text.h"
#include "engine/redis/redis.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/wire/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEN_MAX = 64 };

struct bwl_redis_seen {
    unsigned next; /* the oldest one, which is replaced */
    struct {
        char     value[BWL_QUEUE_VALUE_SIZE + 1];
        uint64_t id; /* 0: none */
    } holds[SEEN_MAX];
};

static const char *find_value(const bwl_redis_seen *seen, uint64_t id)
{
    for (unsigned i = 0; seen != NULL && i < SEEN_MAX; i++)
        if (seen->holds[i].id == id)
            return seen->holds[i].value;
    return NULL;
}

void bwl_redis_remember_hold(bwl_redis *redis, const bwl_holder_reply *look)
{
    if (!bwl_queue_is_whole_value(look->value, look->value_size))
        return;
    uint64_t id = bwl_value_hash(look->value, look->value_size);
    if (find_value(redis->seen, id) != NULL)
        return;
    if (redis->seen == NULL)
        redis->seen = calloc(1, sizeof *redis->seen);
    if (redis->seen == NULL)
        return; /* then nothing is known about it */
    unsigned at = redis->seen->next++ % SEEN_MAX;
    memcpy(redis->seen->holds[at].value, look->value, sizeof redis->seen->holds[at].value);
    redis->seen->holds[at].id = id;
}

static bool write_ask(bwl_session *session, bwl_request *request)
{
    const char     *value = ((const bwl_redis_query *)request->subject)->look.value + 3;
    char            tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer writer;

    if (request->route.asking && !bwl_redis_write_asking(session))
        return false;
    request->flight.replies_to_skip = request->route.asking;
    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_BROKEN_SIZE_MAX, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_queue_write_ask_broken(&writer, tag, value, value + BWL_QUEUE_SESSION_SIZE);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* The note replaces the value, which is not needed again. */
static bwl_redis_verdict read_note(bwl_session *session, bwl_request *request, const char *bytes,
                                   size_t size, bwl_request_reply *ret_reply)
{
    bwl_redis_query *query = request->subject;
    bwl_bytes        note;

    (void)session;
    ret_reply->event.answer = BWL_YES;
    query->look.value[0]    = '\0';
    if (bytes == NULL)
        return BWL_REDIS_ANSWER;
    note = bwl_queue_read_broken(bytes, size);
    bwl_printable_copy(query->look.value, BWL_BREAKER_MAX, note.at, note.size);
    return BWL_REDIS_ANSWER;
}

static void complete_ask(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bwl_redis_query *query = request->subject;

    (void)session;
    query->answer = result->kind == BWL_DOWN ? BWL_NOT_SENT : result->answer;
    bwl_host_query_done(request->lock);
}

static const bwl_request_kind breaker_query = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_ask,
    .read           = read_note,
    .complete       = complete_ask,
};

/* The lock owns the query, as in holder_query.c. */
bool bwl_redis_ask_breaker_of(bwl_engine_lock *lock, uint64_t id)
{
    bwl_redis_lock *part    = bwl_redis_lock_of(lock);
    const char     *value   = find_value(bwl_redis_of(lock->host)->seen, id);
    bwl_session    *session = value != NULL ? bwl_redis_route(lock, 0) : NULL;

    assert(part->queries == NULL);
    part->queries = calloc(1, sizeof *part->queries);
    if (part->queries == NULL)
        return true;
    part->queries->answer = value == NULL ? BWL_YES : BWL_NOT_SENT;
    if (session == NULL)
        return true;
    memcpy(part->queries->look.value, value, BWL_QUEUE_VALUE_SIZE + 1);
    return !bwl_session_submit(
        session, &(bwl_request){ .kind = &breaker_query, .lock = lock, .subject = part->queries });
}

int bwl_redis_breaker_of(bwl_engine_lock *lock, char ret_by[BWL_BREAKER_MAX], bwl_fault *fault)
{
    const bwl_redis_query *query = bwl_redis_lock_of(lock)->queries;

    if (query == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (query->answer != BWL_YES)
        return bwl_redis_query_status(lock, query->answer, fault);
    (void)snprintf(ret_by, BWL_BREAKER_MAX, "%.*s", BWL_BREAKER_MAX - 1, query->look.value);
    return BWL_OK;
}
