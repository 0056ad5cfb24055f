/*
 * update.c -- WATCH, GET, MULTI ... EXEC for an update, on a connection of its own.  See
 * session.h.
 *
 * The state that WATCH and MULTI leave is the connection's.  So the words behind READ go out on
 * the connection on which it was answered, or not at all: on the next one nothing is watched, and
 * SET would be carried out at once.  And a section that did not end as it should ends with its
 * connection.
 */
#include "engine/redis/session/session.h"
#include "engine/redis/wire/section.h"
#include "base/fault.h"

#include <stdlib.h>
#include <string.h>

/* ---- asking ---------------------------------------------------------------------------------- */

static bool stands(const bwl_redis_store *store, const bwl_section *section)
{
    return section->question.word == SECTION_READ ||
           (store->phase == BWL_REDIS_READY && store->opened == section->opened);
}

bool bwl_redis_section_admits(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    if (stands(store, question->section))
        return true;
    question->section->kind   = BWL_REPLY;
    question->section->answer = BWL_UNSENT;
    bwl_lock_says(question->lock, "the connection to %s broke", store->where);
    bwl_lock_looked(question->lock);
    return false;
}

bool bwl_redis_step(bwl_lock *lock, bwl_section *section)
{
    bwl_redis_open_question question = { .lock = lock, .section = section };

    bwl_fault_clear(&lock->why);
    if (section->question.word == SECTION_READ) { /* what it has shown is told at the end */
        section->is_there  = false;
        section->is_long   = false;
        section->no_memory = false;
    }
    if (bwl_redis_put(lock->client->store, &question))
        return false;
    section->kind      = BWL_REPLY;
    section->answer    = BWL_UNSENT;
    section->no_memory = true;
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

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

static void says_why(bwl_redis_store *store, bwl_lock *lock, const bwl_section_reply *reply)
{
    bwl_fault fault;
    char      text[160];

    if (reply->error == NULL || lock->why.text[0] != '\0')
        return; /* the first error is the reason for the others */
    bwl_redis_error_words(store, text, sizeof text, reply->error, reply->error_size);
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s: %s", store->where, text);
    bwl_redis_error_code(fault.server_code, text);
    bwl_lock_says_fault(lock, &fault);
}

bwl_redis_verdict bwl_redis_section_heard(bwl_redis_store *store, bwl_redis_open_question *q,
                                          const char *bytes, size_t size, bwl_answer *ret_answer)
{
    bwl_section      *section = q->section;
    bwl_section_word  word    = section->question.word;
    bwl_section_reply reply;
    bwl_redis_verdict verdict = bwl_section_read(word, q->heard, bytes, size, &reply);

    if (verdict != BWL_REDIS_ANSWER)
        return verdict;
    section->is_long = section->is_long || reply.is_long;
    if (reply.answer == BWL_YES && bwl_section_shows_value(word, q->heard) &&
        !keep_value(section, &reply)) {
        section->no_memory = true;
        reply.answer       = BWL_LATER;
    }
    says_why(store, q->lock, &reply);
    *ret_answer = reply.answer;
    return BWL_REDIS_ANSWER;
}

void bwl_redis_section_ended(bwl_redis_store *store, const bwl_redis_open_question *q,
                             const bwl_event *ev)
{
    bwl_section *section = q->section;
    bool         was_error =
        ev->kind == BWL_REPLY && (ev->answer == BWL_LATER || ev->answer == BWL_REFUSED);
    bwl_fault fault;

    section->kind   = ev->kind;
    section->answer = ev->answer;
    section->opened = store->opened;
    if (was_error && store->phase == BWL_REDIS_READY) {
        (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s has refused a part of it", store->where);
        bwl_redis_break_off(store, &fault, false);
    }
    bwl_lock_looked(q->lock);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

bool bwl_redis_section_write(bwl_redis_store *store, const bwl_section *section,
                             bwl_resp_writer *ret_writer)
{
    if (!bwl_resp_stream_reserve(&store->conn, bwl_section_room(&section->question), ret_writer))
        return false;
    bwl_section_write(ret_writer, &section->question);
    return true;
}
