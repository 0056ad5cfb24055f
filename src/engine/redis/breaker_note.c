/*
 * breaker_note.c -- with a queued protocol, a note names the client that released a hold by force.
 * The former holder reads it when its renewal finds the lock gone.
 *
 *      breaker:  note, RELEASE      holder:  EXTEND --> NO, then reads the note
 */
#include "engine/redis/redis.h"
#include "engine/redis/topology/slots.h"

#include <stdio.h>
#include <string.h>

enum { NOTE_MAX = 128 }; /* size of a note that is shown, bytes */

bool bwl_redis_write_note(bwl_session *session, const bwl_request *request)
{
    const bwl_redis_query *query = request->subject;
    const char            *id    = query->look.value + 3;
    char                   who[2 * BWL_HOLDER_TEXT_MAX];
    char                   tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer        writer;

    assert(bwl_queue_is_whole_value(query->look.value, query->look.value_size));
    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_BROKEN_SIZE_MAX, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_redis_name_user(who);
    bwl_queue_write_broken(&writer, tag, id, id + BWL_QUEUE_SESSION_SIZE, who);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static bool write_ask_breaker(bwl_session *session, bwl_request *request)
{
    char            tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_BROKEN_SIZE_MAX, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_queue_write_ask_broken(&writer, tag, session->push.id, request->token);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* The note becomes the lock's error text. */
static bwl_redis_verdict read_breaker(bwl_session *session, bwl_request *request, const char *bytes,
                                      size_t size, bwl_request_reply *ret_reply)
{
    bwl_engine_lock *lock = request->lock;
    bwl_resp_cursor  cursor;
    bwl_resp_value   value;
    char            *why = lock->why.text;

    (void)session;
    ret_reply->event.answer = BWL_YES;
    if (bytes == NULL || bwl_hold_is_held(&lock->hold) ||
        strcmp(lock->hold.request.token, request->token) != 0)
        return BWL_REDIS_ANSWER; /* acquired again */
    cursor = bwl_resp_begin(bytes, size);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '$' || value.text == NULL)
        return BWL_REDIS_ANSWER;
    (void)snprintf(why, sizeof lock->why.text, "broken by %.*s",
                   (int)(value.size < NOTE_MAX ? value.size : NOTE_MAX), value.text);
    for (size_t i = 0; why[i] != '\0'; i++) /* it may be printed on a terminal */
        if ((unsigned char)why[i] < 0x20 || why[i] == 0x7f)
            why[i] = '?';
    return BWL_REDIS_ANSWER;
}

static void complete_ask_breaker(bwl_session *session, const bwl_request *request,
                                 const bwl_event *result)
{
    (void)session;
    (void)request;
    (void)result;
}

static const bwl_request_kind ask_breaker = {
    .write    = write_ask_breaker,
    .read     = read_breaker,
    .complete = complete_ask_breaker,
};

void bwl_redis_ask_breaker(bwl_engine_lock *lock, unsigned node, const char *token)
{
    bwl_session *session = bwl_redis_route(lock, node);
    bwl_request  request = { .kind = &ask_breaker, .lock = lock };

    if (session == NULL || !bwl_session_uses_push(session) || lock->host->closing)
        return;
    memcpy(request.token, token, sizeof request.token);
    (void)bwl_session_submit(session, &request); /* (void): then the client is not named */
}
