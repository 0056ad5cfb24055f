/*
 * slots.c -- see slots.h.
 */
#include "engine/redis/topology/slots.h"
#include "engine/redis/topology/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAUSE_MS = 50, LEAVE_ROOM = 128, NEW_MS = 3000 };

/* ---- names ----------------------------------------------------------------------------------- */

void bwl_redis_slot_tag(const bwl_redis_store *store, const bwl_engine_lock *lock,
                        char ret_tag[BWL_QUEUE_TAG_MAX + 1])
{
    ret_tag[0] = '\0';
    if (store->cluster != NULL)
        (void)snprintf(ret_tag, BWL_QUEUE_TAG_MAX + 1, "{%u}",
                       (unsigned)bwl_cluster_tag(&store->cluster->tags, bwl_redis_slot_of(lock)) %
                           1000000);
}

void bwl_redis_slot_inbox(const bwl_redis_store *store, const char *tag,
                          char ret_inbox[BWL_QUEUE_INBOX_MAX + 1])
{
    if (tag[0] == '\0')
        memcpy(ret_inbox, store->inbox, strlen(store->inbox) + 1);
    else
        (void)snprintf(ret_inbox, BWL_QUEUE_INBOX_MAX + 1, "%s:%.*s", store->inbox,
                       BWL_QUEUE_TAG_MAX, tag);
}

/* ---- what was done --------------------------------------------------------------------------- */

int bwl_redis_slots_new(bwl_redis_store *store)
{
    store->slots = calloc(BWL_CLUSTER_SLOTS, sizeof *store->slots);
    return store->slots != NULL ? BWL_OK : BWL_STATUS_NOMEM;
}

static void keep_only(bwl_redis_store *store, uint8_t flags)
{
    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++)
        store->slots[slot] &= flags;
    store->introduced_at = bwl_host_now(store->client);
}

void bwl_redis_slots_begin(bwl_redis_store *store)
{
    keep_only(store, BWL_SLOT_KNOWN);
}

void bwl_redis_slots_again(bwl_redis_store *store)
{
    keep_only(store, BWL_SLOT_KNOWN | BWL_SLOT_LISTENS | BWL_SLOT_NEW);
}

void bwl_redis_slots_leave(bwl_redis_store *store)
{
    bwl_resp_writer writer;
    char            tag[BWL_QUEUE_TAG_MAX + 1];

    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++) {
        if ((store->slots[slot] & BWL_SLOT_KNOWN) == 0)
            continue;
        if (!bwl_resp_stream_reserve(&store->conn, LEAVE_ROOM, &writer))
            return; /* it ends by itself */
        (void)snprintf(tag, sizeof tag, "{%u}",
                       (unsigned)bwl_cluster_tag(&store->cluster->tags, (uint16_t)slot) % 1000000);
        bwl_queue_write_leave(&writer, tag, store->session);
        bwl_resp_stream_commit(&store->conn, &writer);
    }
}

/* ---- before the first question --------------------------------------------------------------- */

static bool uses_slot(const bwl_redis_open_question *q)
{
    return q->section == NULL && bwl_queue_is(q->word) && q->word != REDIS_QUEUE_EXTEND;
}

/* What is to be done still; 0: nothing.  Who listens is told when the slot goes elsewhere, so
 * nobody counts on a floor who does not. */
static uint8_t due_for(const bwl_redis_store *store, const bwl_redis_open_question *q)
{
    unsigned wanted = BWL_SLOT_FLOOR | BWL_SLOT_LISTENS;

    if (store->slots == NULL || !uses_slot(q))
        return 0;
    return (uint8_t)(wanted & ~(unsigned)store->slots[bwl_redis_slot_of(q->lock)]);
}

bool bwl_redis_slot_is_due(const bwl_redis_store *store, const bwl_redis_open_question *question)
{
    return due_for(store, question) != 0;
}

bool bwl_redis_slot_write(bwl_redis_store *store, bwl_redis_open_question *q)
{
    uint8_t         due  = due_for(store, q);
    uint16_t        slot = bwl_redis_slot_of(q->lock);
    char            tag[BWL_QUEUE_TAG_MAX + 1];
    char            inbox[BWL_QUEUE_INBOX_MAX + 1];
    bwl_resp_writer writer;

    assert(due != 0);
    if (!bwl_resp_stream_reserve(&store->conn, BWL_QUEUE_GREETING_ROOM, &writer))
        return false;
    bwl_redis_slot_tag(store, q->lock, tag);
    bwl_redis_slot_inbox(store, tag, inbox);
    q->starts_at  = store->conn.stream.written;
    q->written_at = store->client->latest;
    if (store->client->closing) { /* nobody will hear an answer */
        bwl_redis_introduce(store, &writer, tag);
        store->slots[slot] |= BWL_SLOT_FLOOR | BWL_SLOT_KNOWN | BWL_SLOT_LISTENS;
        bwl_resp_stream_commit(&store->conn, &writer);
        return true;
    }
    assert(q->failed == 0);
    if ((due & BWL_SLOT_LISTENS) != 0)
        bwl_queue_write_inbox(&writer, true, inbox);
    bwl_redis_introduce(store, &writer, tag);
    q->unheard  = (due & BWL_SLOT_LISTENS) != 0 ? 2 : 0;
    q->prepares = true;
    q->written  = true;
    bwl_resp_stream_commit(&store->conn, &writer);
    return true;
}

bool bwl_redis_slot_holds_up(const bwl_redis_store *store, bwl_redis_open_question *q)
{
    bool lets_go = q->word == REDIS_QUEUE_RELEASE || q->word == REDIS_QUEUE_CANCEL;

    if (!q->prepares || !store->client->closing)
        return q->prepares;
    if (lets_go)
        q->prepares = q->written = false;
    return false;
}

static bwl_answer answer_of(const char *bytes, size_t size)
{
    if (!bwl_redis_is_error(bytes, size))
        return BWL_YES;
    return bwl_redis_error_is(bytes, size, "NOPERM") ? BWL_REFUSED : BWL_LATER;
}

/* The last frame, of the floor, is of one key alone, and its error is the answer to all; an error
 * before it, without one there, is of a slot that has just come back, or of rights. */
static bwl_answer heard(bwl_redis_store *store, bwl_redis_open_question *q, const char *bytes,
                        size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    bwl_answer      answer = bytes != NULL ? answer_of(bytes, size) : BWL_REFUSED;

    assert(q->prepares);
    if (q->unheard > 0) {
        q->unheard--;
        if (answer != BWL_YES && q->failed != BWL_REFUSED) {
            q->failed = answer;
            bwl_redis_says_why(store, q, answer, bytes, size); /* what comes behind may be fine */
        }
        return BWL_YES;
    }
    if (answer == BWL_LATER && !bwl_redis_is_not_now(bytes, size))
        answer = BWL_REFUSED;
    if (answer == BWL_YES && (!bwl_resp_next_bare(&cursor, &value) || value.type != ':'))
        answer = BWL_REFUSED;
    if (answer == BWL_YES && q->failed != 0)
        answer = q->failed;
    q->prepares = false;
    q->written  = false;
    if (answer == BWL_YES)
        store->slots[bwl_redis_slot_of(q->lock)] |= BWL_SLOT_FLOOR | BWL_SLOT_KNOWN;
    return answer;
}

void bwl_redis_slot_answered(bwl_redis_store *store, const char *bytes, size_t size)
{
    bwl_redis_open_question *first  = bwl_redis_nth(store, 0);
    bwl_answer               answer = heard(store, first, bytes, size);

    if (answer == BWL_YES)
        return;
    if (bwl_redis_is_sent_on(store, first, bytes, size)) {
        bwl_redis_sent_on(store, bytes, size);
        return;
    }
    if (bytes == NULL || bwl_redis_is_error(bytes, size))
        bwl_redis_says_why(store, first, answer, bytes, size);
    bwl_redis_open_question q = bwl_redis_take_first(store);
    bwl_redis_settle(&q, &(bwl_event){ .kind = BWL_REPLY, .answer = answer });
}

void bwl_redis_slot_listens(bwl_redis_store *store, bwl_bytes tag)
{
    bwl_redis_open_question *first = store->questions_count > 0 ? bwl_redis_nth(store, 0) : NULL;

    if (store->slots == NULL || tag.size == 0)
        return;
    store->slots[bwl_cluster_slot(tag.at, tag.size)] |= BWL_SLOT_LISTENS | BWL_SLOT_NEW;
    store->slots_new_until = bwl_later(store->client->latest, NEW_MS);
    if (first != NULL && first->prepares && first->unheard == 2)
        first->unheard = 1; /* a push instead of a frame */
}

static void none_is_new(bwl_redis_store *store)
{
    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++)
        store->slots[slot] &= (uint8_t)~BWL_SLOT_NEW;
    store->slots_new_until = BWL_NEVER;
}

bool bwl_redis_slot_is_new(bwl_redis_store *store, const bwl_engine_lock *lock)
{
    if (store->slots == NULL)
        return false;
    if (store->client->latest >= store->slots_new_until)
        none_is_new(store);
    return (store->slots[bwl_redis_slot_of(lock)] & BWL_SLOT_NEW) != 0;
}

void bwl_redis_slot_forget(bwl_redis_store *store, uint16_t slot)
{
    if (store->slots != NULL)
        store->slots[slot] = 0;
}

/* Whoever stands in line there looks where that is now. */
void bwl_redis_slot_has_gone(bwl_redis_store *store, bwl_bytes tag)
{
    uint16_t         slot = bwl_cluster_slot(tag.at, tag.size);
    bwl_engine_lock *next;

    if (store->slots == NULL || tag.size == 0)
        return;
    bwl_redis_slot_forget(store, slot);
    for (bwl_engine_lock *lock = bwl_redis_first_lock(store); lock != NULL; lock = next) {
        bwl_host_pin(lock);
        if (bwl_hold_is_sought(&lock->hold) && bwl_redis_is_home(store, lock) &&
            bwl_redis_slot_of(lock) == slot)
            bwl_host_event(lock, (bwl_event){ .kind = BWL_DOWN });
        next = bwl_redis_next_lock(lock);
        bwl_host_unpin(lock);
    }
}

bool bwl_redis_slot_broke(const bwl_redis_store *store, const char *bytes, size_t size)
{
    static const char words[] = "non local key";

    return store->cluster != NULL && bytes != NULL && bwl_redis_is_error(bytes, size) &&
           memmem(bytes, size, words, sizeof words - 1) != NULL;
}

/* As if it had not been answered: only a beat may simply be asked again. */
void bwl_redis_slot_ended(bwl_redis_store *store)
{
    bwl_redis_open_question q     = bwl_redis_take_first(store);
    bwl_event               later = { .kind = BWL_REPLY, .answer = BWL_LATER };
    bwl_event               down  = { .kind = BWL_DOWN };

    bwl_host_set_error(q.lock, "%s: the lock's slot has moved to another node", store->where);
    bwl_redis_settle(&q, q.word == REDIS_QUEUE_BEAT ? &later : &down);
}

/* ---- aside ----------------------------------------------------------------------------------- */

/* A BEAT is made up for by the next one, and nobody waits for its answer. */
bool bwl_redis_may_wait(const bwl_redis_store *store, const bwl_redis_open_question *question)
{
    return store->cluster != NULL && uses_slot(question) && question->word != REDIS_QUEUE_BEAT;
}

bool bwl_redis_put_aside(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    bwl_cluster            *cluster = store->cluster;
    bwl_redis_open_question q       = *question;
    bwl_ms                  now     = store->client->latest;

    if (q.hops_until == 0)
        q.hops_until = bwl_later(now, store->client->settings.answer_ms);
    if (now >= q.hops_until || !bwl_redis_is_wanted(&q) || store->client->closing)
        return false;
    if (cluster->aside_count == cluster->aside_room) {
        unsigned                 room  = cluster->aside_room == 0 ? 8 : cluster->aside_room * 2;
        bwl_redis_open_question *aside = realloc(cluster->aside, room * sizeof *aside);
        if (aside == NULL)
            return false;
        cluster->aside      = aside;
        cluster->aside_room = room;
    }
    q.written_at                           = now; /* it was answered then */
    cluster->aside[cluster->aside_count++] = q;
    store->client->pending++;
    bwl_host_pin(q.lock);
    return true;
}

bwl_ms bwl_redis_aside_until(const bwl_host *client)
{
    const bwl_cluster *cluster = ((const bwl_redis_store *)client->store)->cluster;
    bwl_ms             until   = BWL_NEVER;

    for (unsigned i = 0; cluster != NULL && i < cluster->aside_count; i++)
        until = bwl_sooner(until, bwl_later(cluster->aside[i].written_at, PAUSE_MS));
    return until;
}

static bool take_due(bwl_cluster *cluster, bwl_ms now, bwl_redis_open_question *ret_question)
{
    for (unsigned i = 0; i < cluster->aside_count; i++) {
        if (now < bwl_later(cluster->aside[i].written_at, PAUSE_MS))
            continue;
        *ret_question = cluster->aside[i];
        cluster->aside_count--;
        memmove(&cluster->aside[i], &cluster->aside[i + 1],
                (cluster->aside_count - i) * sizeof cluster->aside[0]);
        cluster->pattern->client->pending--;
        return true;
    }
    return false;
}

/* The machine may want something else by now: then it must not be asked behind that. */
void bwl_redis_aside_woken(bwl_host *client)
{
    bwl_cluster            *cluster = ((bwl_redis_store *)client->store)->cluster;
    bwl_redis_open_question q;

    while (cluster != NULL && take_due(cluster, bwl_host_now(client), &q)) {
        bwl_redis_store *store = bwl_redis_store_for(q.lock, q.node);
        if (bwl_redis_is_wanted(&q) && store != NULL && bwl_redis_put_anew(store, &q))
            bwl_host_unpin(q.lock); /* putting has pinned it once more */
        else
            bwl_redis_settle(&q, &(bwl_event){ .kind = BWL_REPLY, .answer = BWL_UNSENT });
    }
}
