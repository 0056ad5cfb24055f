/*
 * force_release.c -- ends the hold that a query has shown, and no other: by the command with which
 * its holder would release it, and with exactly the value that was shown.
 *
 *      shown --> RELEASE or DELETE_IF_MINE of that value --+--> 1: released
 *                 with a queue, the next waiter has it     +--> 0: it had ended before
 *                                                          `--> 2: released; POKE until no more
 *                                                                  dead waiters are in the queue
 *
 * The server compares and deletes in one step, so whichever hold is there by then stays.  A value
 * that is not, to the letter, one that this protocol writes is not touched; nor is one that is the
 * same for every holder, because it does not tell which hold was shown.
 *
 * Of a protocol with a queue, a note says who has ended the hold.  The holder reads it when its
 * renewal finds the lock gone.
 *
 *      breaker:  note, RELEASE      holder:  EXTEND --> NO, then asks for the note
 */
#include "base/fault.h"
#include "engine/redis/redis.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/wire/stamp.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <string.h>

enum { NOTE_MAX = 128 }; /* bytes of a note that are shown */

uint64_t bwl_redis_id_of_hold(const bwl_hold *hold, const bwl_redis_look *look)
{
    const bwl_rules *rules = hold->claim.rules;
    bool             is_odd =
        hold->protocol->listens && !bwl_queue_is_whole_value(look->value, look->value_size);
    bool is_dull = rules != NULL && rules->value == BWL_VALUE_LITERAL;

    return is_odd || is_dull ? 0 : bwl_value_print(look->value, look->value_size);
}

/* ---- the release ----------------------------------------------------------------------------- */

static bool write_note(bwl_session *session, const bwl_request *request)
{
    const bwl_redis_query *query = request->subject;
    const char            *id    = query->look.value + 3;
    char                   who[2 * BWL_HOLDER_TEXT_MAX];
    char                   tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer        writer;

    assert(bwl_queue_is_whole_value(query->look.value, query->look.value_size));
    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_BROKEN_ROOM, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_redis_name_user(who);
    bwl_queue_write_broken(&writer, tag, id, id + BWL_QUEUE_SESSION_SIZE, who);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static bool write_asking(bwl_session *session)
{
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_CLUSTER_WORD_ROOM, &writer))
        return false;
    bwl_cluster_write_asking(&writer);
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static bool write_release(bwl_session *session, bwl_request *request)
{
    const bwl_redis_look *look     = &((const bwl_redis_query *)request->subject)->look;
    bwl_redis_question    question = { .token      = request->token,
                                       .former     = request->lock->hold.claim.former,
                                       .value      = look->value,
                                       .value_size = look->value_size };
    bwl_queue_self        self;

    if (request->route.asking || request->word == REDIS_QUEUE_RELEASE) {
        if (request->route.asking ? !write_asking(session) : !write_note(session, request))
            return false;
        request->flight.replies_to_skip = 1;
    }
    if (bwl_queue_is(request->word)) {
        assert(bwl_queue_is_whole_value(look->value, look->value_size));
        self = bwl_redis_self(session, request);
        memcpy(self.session, look->value + 3, BWL_QUEUE_SESSION_SIZE);
        self.session[BWL_QUEUE_SESSION_SIZE] = '\0';
        question.token                       = look->value + 3 + BWL_QUEUE_SESSION_SIZE;
        question.self                        = &self;
    }
    return bwl_redis_write_command(session, request, &question);
}

static const bwl_request_kind *forced_release(void);

static bool submit(bwl_session *session, bwl_engine_lock *lock, bwl_redis_query *query,
                   bwl_redis_word word)
{
    return bwl_session_submit(
        session,
        &(bwl_request){ .kind = forced_release(), .lock = lock, .subject = query, .word = word });
}

/* The hold has ended, so nothing can go wrong: without POKE, waiters find out by themselves. */
static bool pokes(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    bool is_more = result->kind == BWL_REPLY && result->answer == BWL_YES &&
                   result->place != NULL && result->place->how == BWL_HOW_MORE;

    return is_more && submit(session, request->lock, request->subject, REDIS_QUEUE_POKE);
}

static void complete_release(bwl_session *session, const bwl_request *request,
                             const bwl_event *result)
{
    bwl_redis_query *query = request->subject;

    if (request->word != REDIS_QUEUE_POKE) {
        query->is_unknown = result->kind == BWL_DOWN;
        query->answer     = result->answer;
    }
    if (!pokes(session, request, result))
        bwl_host_query_done(request->lock);
}

static const bwl_request_kind forced_release_kind = {
    .reports_errors = true,
    .reports_text   = true,
    .write          = write_release,
    .read           = bwl_redis_read_command,
    .complete       = complete_release,
};

static const bwl_request_kind *forced_release(void)
{
    return &forced_release_kind;
}

/* The command with which its holder would release it. */
static bwl_redis_word release_of(const bwl_engine_lock *lock, const bwl_session *session)
{
    if (bwl_session_uses_push(session))
        return REDIS_QUEUE_RELEASE;
    return bwl_protocol_words(lock->hold.protocol)->release;
}

bool bwl_redis_force_release(bwl_engine_lock *lock)
{
    bwl_session     *session = bwl_redis_route(lock, 0);
    bwl_redis_query *query   = bwl_redis_lock_of(lock)->queries;

    assert(query != NULL);
    assert(query->answer == BWL_YES);
    assert(bwl_redis_id_of_hold(&lock->hold, &query->look) != 0);
    if (session != NULL && submit(session, lock, query, release_of(lock, session)))
        return false;
    bwl_host_set_error(lock, "out of memory");
    query->answer = BWL_UNSENT;
    return true;
}

int bwl_redis_force_released(bwl_engine_lock *lock, bwl_fault *fault)
{
    const bwl_redis_query *query = bwl_redis_lock_of(lock)->queries;

    if (query->is_unknown)
        return bwl_fail(fault, BWL_STATUS_UNKNOWN, "%s: whether it was broken is not known: %s",
                        lock->name, lock->why);
    switch (query->answer) {
    case BWL_YES: return BWL_OK;
    case BWL_NO: return bwl_fail(fault, BWL_STATUS_BUSY, "the hold that was shown has ended");
    case BWL_LATER:
    case BWL_REFUSED: return bwl_fail(fault, BWL_STATUS_REFUSED, "%s", lock->why);
    case BWL_UNSENT: return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s", lock->why);
    case BWL_ALIEN: break;
    }
    bwl_unreachable("an answer outside of its enum");
}

/* ---- the note -------------------------------------------------------------------------------- */

static bool write_ask_breaker(bwl_session *session, bwl_request *request)
{
    char            tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_BROKEN_ROOM, &writer))
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
    char            *why = lock->why;

    (void)session;
    ret_reply->event.answer = BWL_YES;
    if (bytes == NULL || bwl_hold_is_held(&lock->hold) ||
        strcmp(lock->hold.claim.token, request->token) != 0)
        return BWL_REDIS_ANSWER; /* it is held anew */
    cursor = bwl_resp_begin(bytes, size);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '$' || value.text == NULL)
        return BWL_REDIS_ANSWER;
    (void)snprintf(why, sizeof lock->why, "broken by %.*s",
                   (int)(value.size < NOTE_MAX ? value.size : NOTE_MAX), value.text);
    for (size_t i = 0; why[i] != '\0'; i++) /* others wrote it, and it may end on a terminal */
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
    (void)bwl_session_submit(session, &request); /* (void): then it is not said who it was */
}
