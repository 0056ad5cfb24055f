/*
 * push_channel.c -- how a waiter is told that the lock is its own: the inbox of a connection, what
 * comes through it, and by what names those who wait stand in the queue.  See session.h, and
 * docs/wire.md for what is written.
 *
 * Only where the protocol listens.  Each connection has an inbox of its own, a channel that nobody
 * can guess.  An inbox for the client would be two: what was said to the connection before this one
 * could still come, and be taken to be of now.
 *
 *      SSUBSCRIBE inbox      a push, and then SUBSCRIBED
 *      SPUBLISH inbox H      1, and a push: what we are told does come
 *      SCRIPT EXISTS ...     what is not there is loaded in a second go
 *      EVAL floor            fences are above the server's time from now on; and who we are
 *
 * Before 7.0 there were no shards, and it is SUBSCRIBE and PUBLISH; the answer to HELLO says so.
 * Then what was written by guess is written once more.
 *
 * A waiter has a nonce: the number of a slot here, and a generation that is new with every attempt.
 * A push for another generation is of an attempt that has ended, and is nobody's: whoever ended it
 * has cancelled it, and so has passed the lock on.
 */
#include "core/text.h"
#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/session/session.h"
#include "engine/redis/session/key_tracking.h"
#include "runtime/local_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_SLOT = 0 }; /* they count from 1 */

static bwl_redis_part *part_of(const bwl_lock *lock)
{
    return lock->part;
}

/* So many characters of 128 bits. */
static bool draw(bwl_redis_store *store, char *ret_text, size_t size)
{
    bwl_random bits;
    char       token[BWL_TOKEN_MAX + 1];

    if (!bwl_entropy_draw(&store->client->entropy, &bits))
        return false;
    bwl_token_write(token, &bits);
    assert(strlen(token) == BWL_QUEUE_BITS_SIZE);
    assert(size <= BWL_QUEUE_BITS_SIZE);
    memcpy(ret_text, token, size);
    ret_text[size] = '\0';
    return true;
}

bool bwl_redis_listens(const bwl_redis_store *store)
{
    const bwl_protocol *chosen = store->client->settings.protocol;

    return !store->client->takes_no_locks &&
           (chosen != NULL ? chosen : store->client->engine->protocol)->listens;
}

/* ---- greeting -------------------------------------------------------------------------------- */

static bool draw_names(bwl_redis_store *store)
{
    size_t           prefix = sizeof BWL_QUEUE_INBOX - 1;
    bwl_redis_store *first  = store->client->store; /* of a cluster: all have one session */

    memcpy(store->inbox, BWL_QUEUE_INBOX, prefix);
    if (first->session[0] == '\0' && !draw(first, first->session, BWL_QUEUE_SESSION_SIZE))
        return false;
    memmove(store->session, first->session, sizeof first->session);
    return draw(store, store->inbox + prefix, BWL_QUEUE_BITS_SIZE);
}

static void write_all(bwl_redis_store *store, bwl_resp_writer *writer)
{
    store->inbox_was_heard = false;
    store->inbox_is_wrong  = false;
    store->scripts_missing = 0;
    if (store->slots != NULL) {
        bwl_redis_slots_begin(store);
        bwl_queue_write_scripts(writer);
        return;
    }
    bwl_queue_write_inbox(writer, !store->is_without_shards, store->inbox);
    bwl_queue_write_scripts(writer);
    bwl_redis_introduce(store, writer, "");
}

int bwl_redis_write_inbox(bwl_redis_store *store, bwl_resp_writer *writer, bwl_fault *fault)
{
    if (!draw_names(store))
        return bwl_fail_errno(fault, "the system gives no random bits");
    write_all(store, writer);
    return BWL_OK;
}

void bwl_redis_says_version(bwl_redis_store *store, bool has_shards)
{
    store->inbox_is_wrong    = has_shards == store->is_without_shards;
    store->is_without_shards = !has_shards;
}

static int write_again(bwl_redis_store *store, bwl_fault *fault)
{
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&store->conn, BWL_QUEUE_GREETING_ROOM, &writer))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    write_all(store, &writer);
    bwl_resp_stream_commit(&store->conn, &writer);
    store->greeting = BWL_GREET_SUBSCRIBE;
    return bwl_stream_flush(&store->conn.stream, fault);
}

static int write_loads(bwl_redis_store *store, bwl_fault *fault)
{
    bwl_resp_writer writer;

    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++) {
        if ((store->scripts_missing & 1u << i) == 0)
            continue;
        if (!bwl_resp_stream_reserve(&store->conn, BWL_QUEUE_LOAD_ROOM, &writer))
            return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
        bwl_queue_write_load(&writer, i);
        bwl_resp_stream_commit(&store->conn, &writer);
    }
    store->greeting = BWL_GREET_LOAD;
    return bwl_stream_flush(&store->conn.stream, fault);
}

/* The server will not have this part of the greeting. */
static int refused(bwl_redis_store *store, const char *bytes, size_t size, const char *what,
                   const char *rights, bwl_fault *fault)
{
    char text[120];

    bwl_redis_error_words(store, text, sizeof text, bytes, size);
    store->is_put_off = bwl_redis_is_not_now(bytes, size);
    if (store->is_put_off)
        (void)bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s cannot serve now: %s", store->where,
                       text);
    else if (!bwl_redis_error_is(bytes, size, "NOPERM"))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED, "%s: %s", store->where, text);
    else
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "%s: protocol queue %s, and may not (NOPERM): ACL SETUSER %s %s, or use "
                       "protocol=token",
                       store->where, what, store->user != NULL ? store->user : "default", rights);
    bwl_redis_error_code(fault->server_code, text);
    return fault->status;
}

/* A server does not take a rule with a command that it does not know. */
static const char *channel_rights(const bwl_redis_store *store)
{
    return store->is_without_shards ? "+subscribe +publish &bowline:i:*"
                                    : "+ssubscribe +spublish &bowline:i:*";
}

#define SCRIPT_RIGHTS "+eval +evalsha +script ~bowline:*"

bool bwl_redis_lacks_a_right(const char *text)
{
    return strstr(text, "The user executing the script can't run this") != NULL;
}

void bwl_redis_name_rights(const bwl_redis_store *store, char *ret_text, size_t capacity)
{
    (void)snprintf(ret_text, capacity,
                   "user %.60s may not run a command of this lock's script (NOPERM): "
                   "man 7 bowline, RIGHTS",
                   store->user != NULL ? store->user : "default");
}

static int no_messages(const bwl_redis_store *store, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "%s does not deliver messages, by which protocol queue wakes who waits: use "
                    "protocol=token",
                    store->where);
}

/* An error; what comes when it is fine is a push. */
static int said_subscribe(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    if (!bwl_redis_is_error(bytes, size))
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s answers what was not asked",
                        store->where);
    store->greeting = BWL_GREET_PUBLISH;
    if (store->inbox_is_wrong)
        return BWL_OK;
    return refused(store, bytes, size, "listens to channels", channel_rights(store), fault);
}

static int said_publish(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    store->greeting = BWL_GREET_SCRIPTS;
    if (store->inbox_is_wrong)
        return BWL_OK;
    if (bwl_redis_is_error(bytes, size))
        return refused(store, bytes, size, "speaks to channels", channel_rights(store), fault);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':' || value.integer < 1)
        return no_messages(store, fault);
    return BWL_OK;
}

/* If it may not be asked, or says something else: an unknown script goes by its text. */
static int said_scripts(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    if (!bwl_queue_read_scripts(bytes, size, &store->scripts_missing))
        store->scripts_missing = 0;
    if (store->cluster != NULL)
        return store->scripts_missing != 0 ? write_loads(store, fault) : BWL_OK;
    store->greeting = BWL_GREET_FLOOR;
    return BWL_OK;
}

static int said_floor(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (bwl_redis_is_error(bytes, size))
        return refused(store, bytes, size, "runs scripts on its keys", SCRIPT_RIGHTS, fault);
    if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':' || value.integer != 1)
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "%s answers what was not asked",
                        store->where);
    if (store->inbox_is_wrong)
        return write_again(store, fault);
    if (!store->inbox_was_heard)
        return no_messages(store, fault);
    return store->scripts_missing != 0 ? write_loads(store, fault) : BWL_OK;
}

static int said_load(bwl_redis_store *store)
{
    store->scripts_missing &= store->scripts_missing - 1;
    return BWL_OK;
}

int bwl_redis_inbox_greeted(bwl_redis_store *store, const char *bytes, size_t size,
                            bwl_fault *fault)
{
    switch (store->greeting) {
    case BWL_GREET_SUBSCRIBE: return said_subscribe(store, bytes, size, fault);
    case BWL_GREET_PUBLISH: return said_publish(store, bytes, size, fault);
    case BWL_GREET_SCRIPTS: return said_scripts(store, bytes, size, fault);
    case BWL_GREET_FLOOR: return said_floor(store, bytes, size, fault);
    case BWL_GREET_LOAD: return said_load(store);
    case BWL_GREET_HELLO:
    case BWL_GREET_AUTH:
    case BWL_GREET_INFO:
    case BWL_GREET_SELECT:
    case BWL_GREET_SLOTS:
    case BWL_GREET_ID:
    case BWL_GREET_KILL:
    case BWL_GREET_DONE: break;
    }
    bwl_unreachable("this part of the greeting is not of the inbox");
}

/* ---- who waits ------------------------------------------------------------------------------- */

static bool grow(bwl_redis_store *store)
{
    uint32_t room = store->waiters_room == 0 ? 8 : store->waiters_room * 2;

    bwl_redis_waiter *waiters = realloc(store->waiters, room * sizeof *waiters);
    if (waiters == NULL)
        return false;
    for (uint32_t i = store->waiters_room; i < room; i++)
        waiters[i] = (bwl_redis_waiter){ .next_free = i + 1 < room ? i + 2 : NO_SLOT };
    store->waiters      = waiters;
    store->waiter_free  = store->waiters_room + 1;
    store->waiters_room = room;
    return true;
}

bool bwl_redis_name_waiter(bwl_redis_store *store, bwl_lock *lock, const bwl_ask *ask)
{
    bwl_redis_part *part = part_of(lock);
    bwl_random      bits;

    store = store->client->store; /* of a cluster: the nodes have one list of them */
    if (!bwl_entropy_draw(&store->client->entropy, &bits))
        return false;
    if (part->slot == NO_SLOT) {
        if (store->waiter_free == NO_SLOT && !grow(store))
            return false;
        part->slot              = store->waiter_free;
        bwl_redis_waiter *taken = &store->waiters[part->slot - 1];
        store->waiter_free      = taken->next_free;
        taken->lock             = lock;
    }
    memcpy(&part->generation, bits.bytes, sizeof part->generation);
    store->waiters[part->slot - 1].generation = part->generation;
    part->claim_ms                            = ask->claim_ms;
    part->has_waited                          = false;
    part->stood_by[0][0]                      = '\0';
    part->stood_by[1][0]                      = '\0';
    return true;
}

void bwl_redis_forget_waiter(bwl_redis_store *store, bwl_lock *lock)
{
    uint32_t slot = part_of(lock)->slot;

    if (slot == NO_SLOT)
        return;
    store->waiters[slot - 1] = (bwl_redis_waiter){ .next_free = store->waiter_free };
    store->waiter_free       = slot;
    part_of(lock)->slot      = NO_SLOT;
}

bwl_queue_self bwl_redis_self_of(bwl_redis_store *store, const bwl_redis_open_question *q)
{
    bwl_redis_part *part = part_of(q->lock);
    bwl_queue_self  self = {
         .says_by_shard = !store->is_without_shards,
         .is_patient    = bwl_redis_slot_is_new(store, q->lock),
         .slot          = part->slot,
         .generation    = q->generation,
         .claim_ms      = part->claim_ms,
         .queue_max     = store->queue_max,
    };

    bwl_redis_slot_tag(store, q->lock, self.tag);
    bwl_redis_slot_inbox(store, self.tag, self.inboxes[0]);
    memcpy(self.session, store->session, sizeof self.session);
    if (q->generation != part->generation)
        return self; /* of an attempt before this one: all is known that we know of it */
    memcpy(self.inboxes[1], part->stood_by[0], sizeof part->stood_by[0]);
    memcpy(self.inboxes[2], part->stood_by[1], sizeof part->stood_by[1]);
    if (q->word == REDIS_QUEUE_JOIN || q->word == REDIS_QUEUE_REQUEUE)
        memcpy(part->stood_by[0], self.inboxes[0], sizeof self.inboxes[0]);
    if (q->word == REDIS_QUEUE_BEAT)
        memcpy(part->stood_by[1], self.inboxes[0], sizeof self.inboxes[0]);
    return self;
}

void bwl_redis_placed(bwl_redis_store *store, const bwl_redis_open_question *q,
                      const bwl_place *place)
{
    bwl_redis_part *part = part_of(q->lock);
    char            tag[BWL_QUEUE_TAG_MAX + 1];

    bwl_redis_slot_tag(store, q->lock, tag);
    if (place->how == BWL_HOW_QUEUED && q->generation == part->generation) {
        bwl_redis_slot_inbox(store, tag, part->stood_by[0]);
        part->has_waited = true;
    }
    if (place->how == BWL_HOW_FULL)
        bwl_lock_says(q->lock, "its queue is full (%llu wait, queue-max=%u)",
                      (unsigned long long)place->rank, (unsigned)store->queue_max);
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* In a cluster it may come from a node where we stand no more, whose clock is another. */
static void granted(bwl_redis_store *store, const bwl_queue_push *push)
{
    bwl_place              place = { .server_us = push->server_us };
    const bwl_redis_store *first = store->client->store;

    if (push->slot == NO_SLOT || push->slot > first->waiters_room)
        return;
    const bwl_redis_waiter *waiter = &first->waiters[push->slot - 1];
    if (waiter->lock == NULL || waiter->generation != push->generation ||
        !bwl_redis_is_home(store, waiter->lock))
        return;
    bwl_lock_event(waiter->lock,
                   (bwl_event){ .kind = BWL_PUSH, .number = push->fence, .place = &place });
}

void bwl_redis_pushed(bwl_redis_store *store, const char *bytes, size_t size)
{
    if (store->tracks)
        bwl_redis_invalidated(store, bytes, size);
    if (!bwl_redis_listens(store))
        return; /* nobody asked for it */
    bwl_queue_push push = bwl_queue_read_push(store->inbox, bytes, size);
    switch (push.kind) {
    case BWL_PUSH_SUBSCRIBED:
        if (store->phase == BWL_REDIS_GREETING && store->greeting == BWL_GREET_SUBSCRIBE)
            store->greeting = BWL_GREET_PUBLISH;
        bwl_redis_slot_listens(store, push.tag);
        break;
    case BWL_PUSH_UNSUBSCRIBED: bwl_redis_slot_has_gone(store, push.tag); break;
    case BWL_PUSH_HELLO: store->inbox_was_heard = true; break;
    case BWL_PUSH_GRANT: granted(store, &push); break;
    case BWL_PUSH_OTHER: break;
    }
}

void bwl_redis_inbox_ended(bwl_redis_store *store)
{
    bwl_lock *next;

    for (bwl_lock *lock = store->client->locks; lock != NULL; lock = next) {
        bwl_lock_pin(lock);
        if (!bwl_lock_is_seat(lock) && bwl_redis_is_home(store, lock) &&
            (bwl_hold_is_sought(&lock->hold) || bwl_hold_is_held(&lock->hold)))
            bwl_lock_event(lock, (bwl_event){ .kind = BWL_DOWN });
        next = lock->next;
        bwl_lock_unpin(lock);
    }
}
