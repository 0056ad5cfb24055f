/*
 * update.c -- WATCH, GET, MULTI ... EXEC for an update, on a connection of its own.
 *
 * The state that WATCH and MULTI leave is the connection's.  So the commands behind READ go out on
 * the connection on which it was answered, or not at all: on the next one nothing is watched, and
 * SET would be carried out at once.  A section that did not end as it should ends with its
 * connection.
 */
#include "base/fault.h"
#include "engine/redis/redis.h"
#include "engine/redis/wire/section.h"

#include <stdlib.h>
#include <string.h>

static bool is_on_its_connection(const bwl_session *session, const bwl_section *section)
{
    return section->question.word == SECTION_READ ||
           (session->phase == BWL_SESSION_READY && session->link.opened == section->opened);
}

static bool admits(bwl_session *session, const bwl_request *request)
{
    bwl_section *section = request->subject;

    if (is_on_its_connection(session, section))
        return true;
    section->kind   = BWL_REPLY;
    section->answer = BWL_UNSENT;
    bwl_host_set_error(request->lock, "the connection to %s broke", session->endpoint.text);
    bwl_host_query_done(request->lock);
    return false;
}

static bool write_section(bwl_session *session, bwl_request *request)
{
    const bwl_section *section = request->subject;
    bwl_resp_writer    writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, bwl_section_room(&section->question),
                                 &writer))
        return false;
    bwl_section_write(&writer, &section->question);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

static unsigned frames_of(const bwl_request *request)
{
    return bwl_section_frames(((const bwl_section *)request->subject)->question.word);
}

static bool is_value(const bwl_request *request)
{
    const bwl_section *section = request->subject;

    return bwl_section_shows_value(section->question.word, request->flight.frames);
}

static bool keep_value(bwl_section *section, const bwl_section_reply *reply)
{
    size_t room = reply->value_size + 1;

    if (room > section->seen_room) {
        char *seen = realloc(section->seen, room);
        if (seen == NULL)
            return false;
        section->seen      = seen;
        section->seen_room = room;
    }
    section->is_there  = reply->value != NULL;
    section->seen_size = reply->value_size;
    if (section->is_there)
        memcpy(section->seen, reply->value, reply->value_size);
    section->seen[section->seen_size] = '\0';
    return true;
}

/* The first error is the reason for those behind it. */
static void set_error(const bwl_session *session, bwl_engine_lock *lock,
                      const bwl_section_reply *reply)
{
    bwl_fault fault;
    char      text[160];

    if (reply->error == NULL || lock->why.text[0] != '\0')
        return;
    bwl_session_error_text(session->config, text, sizeof text, reply->error, reply->error_size);
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s: %s", session->endpoint.text, text);
    bwl_redis_error_code(fault.server_code, text);
    bwl_host_set_fault(lock, &fault);
}

static bwl_redis_verdict read_section(bwl_session *session, bwl_request *request, const char *bytes,
                                      size_t size, bwl_request_reply *ret_reply)
{
    bwl_section      *section = request->subject;
    bwl_section_word  word    = section->question.word;
    unsigned          nth     = request->flight.frames;
    bwl_section_reply reply;
    bwl_redis_verdict verdict = bwl_section_read(word, nth, bytes, size, &reply);

    if (verdict != BWL_REDIS_ANSWER)
        return verdict;
    section->is_long = section->is_long || reply.is_long;
    if (reply.answer == BWL_YES && bwl_section_shows_value(word, nth) &&
        !keep_value(section, &reply)) {
        section->no_memory = true;
        reply.answer       = BWL_LATER;
    }
    set_error(session, request->lock, &reply);
    ret_reply->event.answer = reply.answer;
    return BWL_REDIS_ANSWER;
}

static void complete_section(bwl_session *session, const bwl_request *request,
                             const bwl_event *result)
{
    bwl_section *section = request->subject;
    bool         was_error =
        result->kind == BWL_REPLY && (result->answer == BWL_LATER || result->answer == BWL_REFUSED);
    bwl_fault fault;

    section->kind   = result->kind;
    section->answer = result->answer;
    section->opened = session->link.opened;
    if (was_error && session->phase == BWL_SESSION_READY) {
        (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s has refused a part of it",
                       session->endpoint.text);
        bwl_session_break(session, &fault, false);
    }
    bwl_host_query_done(request->lock);
}

static const bwl_request_kind update = {
    .reports_text = true,
    .admits       = admits,
    .frames       = frames_of,
    .is_value     = is_value,
    .write        = write_section,
    .read         = read_section,
    .complete     = complete_section,
};

bool bwl_redis_step(bwl_engine_lock *lock, bwl_section *section)
{
    bwl_request request = { .kind = &update, .lock = lock, .subject = section };

    bwl_fault_clear(&lock->why);
    if (section->question.word == SECTION_READ) { /* what it has shown is used at the end */
        section->is_there  = false;
        section->is_long   = false;
        section->no_memory = false;
    }
    if (bwl_session_submit(bwl_redis_route(lock, 0), &request))
        return false;
    section->kind      = BWL_REPLY;
    section->answer    = BWL_UNSENT;
    section->no_memory = true;
    return true;
}
