/*
 * key_tracking.c -- of a protocol that `hears`: the server says that a key has changed, and a
 * waiter for that key tries again at once.  See session.h.
 *
 *      CLIENT TRACKING ON     before the second attempt of a lock, once for each connection: an
 *                             attempt that finds the lock free needs no more
 *      HASH_TAKE, ZSET_TAKE   reads the key, so the server remembers it for this connection
 *      invalidate [key]       a push: the key was written, deleted, or has expired.  Once for each
 *                             attempt that has read it
 *
 * A client wakes one of its waiters for the key: the one with the most attempts.  It is no
 * more than a hint.  Where none comes (RESP2, a user without +client|tracking, a connection that
 * broke, a server without it), the hold tries again after its own pause.
 */
#include "protocol/protocol.h"
#include "engine/redis/session/key_tracking.h"

#include <string.h>

enum { ROOM = 64 };

bool bwl_redis_wants_tracking(const bwl_redis_store *store, const bwl_redis_open_question *q)
{
    const bwl_hold *hold = &q->lock->hold;
    bool takes           = q->looker == NULL && q->word == bwl_protocol_words(hold->protocol)->take;

    return hold->protocol->hears && takes && hold->claim.attempt > 1 && !store->tracks &&
           !store->is_resp2 && !store->client->closing;
}

bool bwl_redis_write_tracking(bwl_redis_store *store)
{
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&store->conn, ROOM, &writer))
        return false;
    bwl_resp_write_array(&writer, 3);
    bwl_resp_write_text(&writer, "CLIENT");
    bwl_resp_write_text(&writer, "TRACKING");
    bwl_resp_write_text(&writer, "ON");
    bwl_resp_stream_commit(&store->conn, &writer);
    store->tracks = true;
    return true;
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* `key` NULL: any. */
static bool waits_for(const bwl_redis_store *store, const bwl_engine_lock *lock,
                      const bwl_resp_value *key)
{
    char   bytes[BWL_KEY_MAX];
    size_t size;

    if (lock->hold.state != BWL_HOLD_WAITING || !lock->hold.protocol->hears)
        return false;
    size = bwl_key_write(bytes, store->key_template, lock->name, lock->name_size);
    return key == NULL || (key->size == size && memcmp(key->text, bytes, size) == 0);
}

static void wake_one(bwl_redis_store *store, const bwl_resp_value *key)
{
    bwl_engine_lock *longest = NULL;

    for (bwl_engine_lock *lock = bwl_redis_first_lock(store); lock != NULL;
         lock                  = bwl_redis_next_lock(lock))
        if (waits_for(store, lock, key) &&
            (longest == NULL || lock->hold.claim.attempt > longest->hold.claim.attempt))
            longest = lock;
    if (longest != NULL)
        bwl_host_event(longest, (bwl_event){ .kind = BWL_PUSH });
}

/* All keys are gone. */
static void wake_all(bwl_redis_store *store)
{
    bwl_engine_lock *next;

    for (bwl_engine_lock *lock = bwl_redis_first_lock(store); lock != NULL; lock = next) {
        bwl_host_pin(lock);
        if (waits_for(store, lock, NULL))
            bwl_host_event(lock, (bwl_event){ .kind = BWL_PUSH });
        next = bwl_redis_next_lock(lock);
        bwl_host_unpin(lock);
    }
}

void bwl_redis_invalidated(bwl_redis_store *store, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '>' || value.count != 2 ||
        !bwl_resp_next_bare(&cursor, &value) || !bwl_resp_text_is(&value, "invalidate") ||
        !bwl_resp_next_bare(&cursor, &value))
        return; /* nothing that was asked for */
    if (value.type == '_')
        wake_all(store);
    if (value.type != '*')
        return;
    for (uint32_t count = value.count; count > 0; count--) {
        if (!bwl_resp_next_bare(&cursor, &value) || value.type != '$')
            return;
        wake_one(store, &value);
    }
}
