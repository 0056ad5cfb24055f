/*
 * key_tracking.c -- with a protocol that uses key tracking: the server pushes that a key has
 * changed, and a waiter for that key tries again at once.
 *
 *      CLIENT TRACKING ON     before the second attempt of a lock, once for each connection: an
 *                             attempt that finds the lock free does not need it
 *      HASH_TAKE, ZSET_TAKE   reads the key, so the server remembers it for this connection
 *      invalidate [key]       a push: the key was written, deleted, or has expired.  Once for each
 *                             attempt that has read it
 *
 * The push wakes one waiter of the client for the key: the one with the most attempts.  It is only
 * a hint.  Without it (RESP2, a user without +client|tracking, a lost connection, an old server),
 * the lock tries again after its own pause.
 */
#include "engine/redis/redis.h"
#include "protocol/protocol.h"

#include <string.h>

enum { ROOM = 64 };

bool bwl_redis_wants_tracking(const bwl_session *session, const bwl_request *request)
{
    const bwl_hold *hold  = &request->lock->hold;
    bool            takes = request->command == bwl_protocol_commands(hold->protocol)->take;

    return hold->protocol->retries_on_push && takes && hold->request.attempt > 1 &&
           !session->server.tracks_keys && !session->server.is_resp2 && !session->host->closing;
}

bool bwl_redis_write_tracking(bwl_session *session)
{
    session->server.tracks_keys =
        bwl_resp_stream_write(&session->link.conn, ROOM, "CLIENT TRACKING ON");
    return session->server.tracks_keys;
}

/* `key` NULL: any key. */
static bool waits_for(const bwl_session *session, const bwl_engine_lock *lock,
                      const bwl_resp_value *key)
{
    char   bytes[BWL_KEY_MAX];
    size_t size;

    if (lock->hold.state != BWL_HOLD_WAITING || !lock->hold.protocol->retries_on_push)
        return false;
    size = bwl_redis_key(bytes, session->config, lock);
    return key == NULL || (key->size == size && memcmp(key->text, bytes, size) == 0);
}

static void wake_one(bwl_session *session, const bwl_resp_value *key)
{
    bwl_engine_lock *longest = NULL;

    for (bwl_redis_lock *at = bwl_redis_of(session->host)->locks; at != NULL; at = at->next)
        if (waits_for(session, at->lock, key) &&
            (longest == NULL || at->lock->hold.request.attempt > longest->hold.request.attempt))
            longest = at->lock;
    if (longest != NULL)
        bwl_host_event(longest, (bwl_event){ .kind = BWL_PUSH });
}

static void wake(bwl_session *session, bwl_engine_lock *lock, const void *arg)
{
    (void)arg;
    if (waits_for(session, lock, NULL))
        bwl_host_event(lock, (bwl_event){ .kind = BWL_PUSH });
}

void bwl_redis_on_key_changed(bwl_session *session, const char *bytes, size_t size)
{
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value) || value.type != '>' || value.count != 2 ||
        !bwl_resp_next_bare(&cursor, &value) || !bwl_resp_text_is(&value, "invalidate") ||
        !bwl_resp_next_bare(&cursor, &value))
        return; /* another push */
    if (value.type == '_')
        bwl_redis_for_each_lock(session, NULL, wake); /* all keys were deleted */
    if (value.type != '*')
        return;
    for (uint32_t count = value.count; count > 0; count--) {
        if (!bwl_resp_next_bare(&cursor, &value) || value.type != '$')
            return;
        wake_one(session, &value);
    }
}
