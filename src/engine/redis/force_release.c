/*
 * force_release.c -- ending the hold that a look has seen, whosever it is, and no other: what its
 * holder would ask to release it, with exactly the value that was seen.  See session.h.
 *
 *      seen --> RELEASE or DELETE_IF_MINE, of that value --+--> 1: broken
 *                 with a queue the next has it then        +--> 0: it was gone already
 *                                                          `--> 2: broken; POKE until there are
 *                                                                  no more who are dead
 *
 * The server compares and acts in one step, so whoever has the lock by then keeps it, and whoever
 * breaks may die at any moment.  A value that is not, to the letter, one that this protocol writes
 * is not touched; nor one that is the same for every holder, which says of nobody that he was seen.
 */
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/note.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/session/session.h"
#include "engine/redis/wire/stamp.h"

#include <stdio.h>
#include <string.h>

enum { NOTE_MAX = 128 }; /* bytes of a note that are shown */

bool bwl_redis_breaks(const bwl_redis_open_question *question)
{
    return question->looker != NULL && question->word != 0;
}

uint64_t bwl_redis_id_of_seen(const bwl_hold *hold, const bwl_redis_look *look)
{
    const bwl_rules *rules = hold->claim.rules;
    bool             is_odd =
        hold->protocol->listens && !bwl_queue_is_whole_value(look->value, look->value_size);
    bool is_dull = rules != NULL && rules->value == BWL_VALUE_LITERAL;

    return is_odd || is_dull ? 0 : bwl_value_print(look->value, look->value_size);
}

/* ---- asking ---------------------------------------------------------------------------------- */

void bwl_redis_name_seen(const bwl_redis_open_question *question, bwl_redis_question *ret_question,
                         bwl_queue_self *self)
{
    const bwl_redis_look *look = &question->looker->look;

    ret_question->value      = look->value;
    ret_question->value_size = look->value_size;
    if (!bwl_queue_is(question->word))
        return;
    assert(bwl_queue_is_whole_value(look->value, look->value_size));
    memcpy(self->session, look->value + 3, BWL_QUEUE_SESSION_SIZE);
    self->session[BWL_QUEUE_SESSION_SIZE] = '\0';
    ret_question->token                   = look->value + 3 + BWL_QUEUE_SESSION_SIZE;
}

static bool put(bwl_redis_store *store, bwl_lock *lock, bwl_redis_looker *looker,
                bwl_redis_word word)
{
    return bwl_redis_put(
        store, &(bwl_redis_open_question){ .lock = lock, .looker = looker, .word = word });
}

/* What its holder would ask. */
static bwl_redis_word release_of(const bwl_lock *lock)
{
    if (bwl_redis_listens(lock->client->store))
        return REDIS_QUEUE_RELEASE;
    return bwl_protocol_words(lock->hold.protocol)->release;
}

bool bwl_redis_break_seen(bwl_lock *lock)
{
    bwl_redis_store  *store  = bwl_redis_store_for(lock, 0);
    bwl_redis_looker *looker = ((bwl_redis_part *)lock->part)->looker;

    assert(looker != NULL);
    assert(looker->answer == BWL_YES);
    assert(bwl_redis_id_of_seen(&lock->hold, &looker->look) != 0);
    if (store != NULL && put(store, lock, looker, release_of(lock)))
        return false;
    bwl_lock_says(lock, "out of memory");
    looker->answer = BWL_UNSENT;
    return true;
}

/* ---- the note -------------------------------------------------------------------------------- */

bool bwl_redis_write_broken(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    const bwl_redis_look *look    = &question->looker->look;
    const char           *session = look->value + 3;
    char                  who[2 * BWL_HOLDER_TEXT_MAX];
    char                  tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer       writer;

    assert(bwl_queue_is_whole_value(look->value, look->value_size));
    if (!bwl_resp_stream_reserve(&store->conn, BWL_QUEUE_BROKEN_ROOM, &writer))
        return false;
    bwl_redis_slot_tag(store, question->lock, tag);
    bwl_redis_name_user(who);
    bwl_queue_write_broken(&writer, tag, session, session + BWL_QUEUE_SESSION_SIZE, who);
    bwl_resp_stream_commit(&store->conn, &writer);
    return true;
}

void bwl_redis_ask_breaker(bwl_redis_store *store, bwl_lock *lock, const char *token)
{
    bwl_redis_open_question question = {
        .lock = lock, .verifies = true, .introduces = true, .asks_breaker = true
    };

    if (store == NULL || !bwl_redis_listens(store) || store->client->closing)
        return;
    memcpy(question.token, token, sizeof question.token);
    (void)bwl_redis_put(store, &question); /* (void): then it is not said who it was */
}

bool bwl_redis_write_ask_breaker(bwl_redis_store *store, const bwl_redis_open_question *q,
                                 bwl_resp_writer *ret_writer)
{
    char tag[BWL_QUEUE_TAG_MAX + 1];

    if (!bwl_resp_stream_reserve(&store->conn, BWL_QUEUE_BROKEN_ROOM, ret_writer))
        return false;
    bwl_redis_slot_tag(store, q->lock, tag);
    bwl_queue_write_ask_broken(ret_writer, tag, store->session, q->token);
    return true;
}

void bwl_redis_read_breaker(const bwl_redis_open_question *q, const char *bytes, size_t size)
{
    bwl_lock       *lock = q->lock;
    bwl_resp_cursor cursor;
    bwl_resp_value  value;
    char           *why = lock->why.text;

    if (bytes == NULL || bwl_hold_is_held(&lock->hold) ||
        strcmp(lock->hold.claim.token, q->token) != 0)
        return; /* it is held anew */
    cursor = bwl_resp_begin(bytes, size);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '$' || value.text == NULL)
        return;
    (void)snprintf(why, sizeof lock->why.text, "broken by %.*s",
                   (int)(value.size < NOTE_MAX ? value.size : NOTE_MAX), value.text);
    for (size_t i = 0; why[i] != '\0'; i++) /* others wrote it, and it may end on a terminal */
        if ((unsigned char)why[i] < 0x20 || why[i] == 0x7f)
            why[i] = '?';
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* After it was broken nothing can go wrong: without POKE, whoever waits finds out by himself. */
static bool pokes(bwl_redis_store *store, const bwl_redis_open_question *q, const bwl_event *ev)
{
    bool is_more = ev->kind == BWL_REPLY && ev->answer == BWL_YES && ev->place != NULL &&
                   ev->place->how == BWL_HOW_MORE;

    return is_more && put(store, q->lock, q->looker, REDIS_QUEUE_POKE);
}

void bwl_redis_break_ended(bwl_redis_store *store, const bwl_redis_open_question *q,
                           const bwl_event *ev)
{
    if (q->word != REDIS_QUEUE_POKE) {
        q->looker->is_unknown = ev->kind == BWL_DOWN;
        q->looker->answer     = ev->answer;
    }
    if (!pokes(store, q, ev))
        bwl_lock_looked(q->lock);
}

int bwl_redis_broken(bwl_lock *lock, bwl_fault *fault)
{
    const bwl_redis_looker *looker = ((bwl_redis_part *)lock->part)->looker;

    if (looker->is_unknown)
        return bwl_fail_because(fault, BWL_STATUS_UNKNOWN, &lock->why,
                                "%s: whether it was broken is not known: %s", lock->name,
                                lock->why.text);
    switch (looker->answer) {
    case BWL_YES: return BWL_OK;
    case BWL_NO: return bwl_fail(fault, BWL_STATUS_BUSY, "the hold that was shown has ended");
    case BWL_LATER:
    case BWL_REFUSED:
        return bwl_fail_because(fault, BWL_STATUS_REFUSED, &lock->why, "%s", lock->why.text);
    case BWL_UNSENT:
        return bwl_fail_because(fault, BWL_STATUS_UNREACHABLE, &lock->why, "%s", lock->why.text);
    case BWL_ALIEN: break;
    }
    bwl_unreachable("an answer outside of its enum");
}
