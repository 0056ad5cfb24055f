/*
 * write.c -- a question as the bytes that ask it: its key and its words, by the script's name
 * or by its text.  See session.h.
 *
 * Who gives back what he has waited for does so for somebody who waits behind him, perhaps, and
 * that one is to hear of it first.  A server writes its answers last in, first out, by who had
 * something to be told first: so a question that says nothing leads that release, where no other
 * goes before it.  Where a server does it otherwise, that is a question more, and nothing is lost.
 */
#include "protocol/protocol.h"
#include "engine/redis/note.h"
#include "engine/redis/session/session.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/session/key_tracking.h"
#include "engine/redis/wire/hash_lock.h"
#include "engine/redis/wire/zset_lock.h"

enum { LEAD_ROOM = 64 }; /* for EXISTS, but for its key */

typedef struct signal_names {
    char first[BWL_SIGNAL_MAX];
    char second[BWL_SIGNAL_MAX];
} signal_names;

static bwl_signal signal_of(const bwl_redis_store *store, const bwl_redis_open_question *q,
                            signal_names *ret_names)
{
    const bwl_profile     *profile = store->profile;
    const bwl_engine_lock *lock    = q->lock;

    if (profile == NULL || profile->signal == BWL_SIGNAL_NONE || q->word != REDIS_DELETE_IF_MINE)
        return (bwl_signal){ .kind = BWL_SIGNAL_NONE };
    return (bwl_signal){
        .kind = profile->signal,
        .name = ret_names->first,
        .size = bwl_profile_signal_write(ret_names->first, profile, store->key_template, lock->name,
                                         lock->name_size),
        .second      = ret_names->second,
        .second_size = bwl_profile_second_signal_write(
            ret_names->second, profile, store->key_template, lock->name, lock->name_size),
    };
}

static bool write_words(bwl_redis_store *store, const bwl_redis_open_question *q,
                        bwl_resp_writer *ret_writer)
{
    char           key[BWL_KEY_MAX];
    signal_names   names;
    bwl_signal     signal = signal_of(store, q, &names);
    char           tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_queue_self self;
    size_t   size = bwl_key_write(key, store->key_template, q->lock->name, q->lock->name_size);
    uint64_t bit  = UINT64_C(1) << q->word;
    /* Nobody would hear that the server does not know the script; once it has seen the text, it
     * does. */
    bool   is_last_word = store->client->closing && (store->texts_sent & bit) == 0;
    bool   looks        = q->looker != NULL && !bwl_redis_breaks(q);
    bool   is_new       = (store->texts_due & bit) != 0;
    size_t room         = q->introduces ? BWL_QUEUE_GREETING_ROOM : bwl_redis_room(q->word, size);

    if (!bwl_resp_stream_reserve(&store->conn, room + signal.size + signal.second_size, ret_writer))
        return false;
    bwl_redis_slot_tag(store, q->lock, tag);
    if (bwl_queue_is(q->word))
        self = bwl_redis_self_of(store, q);
    bwl_redis_question question = {
        .word          = q->word,
        .by_text       = q->by_text || is_last_word || is_new,
        .is_of_cluster = store->cluster != NULL,
        .key           = key,
        .key_size      = size,
        .token         = q->token,
        .former        = q->lock->hold.claim.former,
        .lease_ms      = q->lease_ms,
        .stamp         = q->stamp,
        .rules         = q->lock->hold.claim.rules,
        .signal        = signal,
        .self          = &self,
    };
    if (bwl_redis_breaks(q))
        bwl_redis_name_seen(q, &question, &self);
    if (q->asks_breaker)
        return bwl_redis_write_ask_breaker(store, q, ret_writer);
    if (q->introduces)
        bwl_redis_introduce(store, ret_writer, "");
    else if (looks && bwl_redis_listens(store))
        bwl_queue_write_look(ret_writer, key, size, tag, q->by_text);
    else if (looks && q->lock->hold.protocol == &bwl_redisson)
        bwl_hash_lock_write_look(ret_writer, key, size, q->by_text);
    else if (looks && q->lock->hold.protocol == &bwl_symfony)
        bwl_zset_lock_write_look(ret_writer, key, size, q->by_text);
    else if (looks)
        bwl_redis_write_look(ret_writer, key, size, q->by_text);
    else
        bwl_redis_write(ret_writer, &question);
    store->texts_sent |= is_last_word ? bit : 0;
    store->texts_due &= ~bit;
    return true;
}

/* Alone it does nothing: without the question behind it, nothing was asked. */
static bool write_asking(bwl_redis_store *store)
{
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&store->conn, BWL_CLUSTER_WORD_ROOM, &writer))
        return false;
    bwl_cluster_write_asking(&writer);
    bwl_resp_stream_commit(&store->conn, &writer);
    return true;
}

static bool wants_lead(const bwl_redis_store *store, const bwl_redis_open_question *q)
{
    const bwl_redis_part *part = q->lock->part;

    return q->word == REDIS_QUEUE_RELEASE && q->looker == NULL && part->has_waited &&
           store->conn.stream.out_size == 0 && !store->client->closing;
}

static bool write_lead(bwl_redis_store *store, const bwl_redis_open_question *q)
{
    char            key[BWL_KEY_MAX];
    bwl_resp_writer writer;
    size_t size = bwl_key_write(key, store->key_template, q->lock->name, q->lock->name_size);

    if (!bwl_resp_stream_reserve(&store->conn, LEAD_ROOM + size, &writer))
        return false;
    bwl_resp_write_array(&writer, 2);
    bwl_resp_write_text(&writer, "EXISTS");
    bwl_resp_write_bulk(&writer, key, size);
    bwl_resp_stream_commit(&store->conn, &writer);
    return true;
}

bool bwl_redis_write_question(bwl_redis_store *store, bwl_redis_open_question *q)
{
    bwl_resp_writer writer;

    if (bwl_redis_slot_is_due(store, q)) {
        if (!bwl_redis_slot_write(store, q))
            return false;
        if (q->prepares)
            return true;
    }
    if (q->goes_asking && !write_asking(store))
        return false;
    bool is_led   = !q->goes_asking && wants_lead(store, q);
    bool is_noted = !q->goes_asking && q->word == REDIS_QUEUE_RELEASE && bwl_redis_breaks(q);
    if ((is_led && !write_lead(store, q)) || (is_noted && !bwl_redis_write_broken(store, q)))
        return false;
    bool tracks = !q->goes_asking && bwl_redis_wants_tracking(store, q);
    if (tracks && !bwl_redis_write_tracking(store))
        return false;
    assert(is_led + is_noted + tracks <= 1); /* one reply before the one that counts */
    q->awaits_ok = q->goes_asking || is_led || is_noted || tracks;
    if (q->section != NULL && !bwl_redis_section_write(store, q->section, &writer))
        return false;
    if (q->section == NULL && !write_words(store, q, &writer))
        return false;
    q->starts_at  = store->conn.stream.written;
    q->written_at = store->client->latest;
    q->written    = true;
    bwl_resp_stream_commit(&store->conn, &writer);
    return true;
}
