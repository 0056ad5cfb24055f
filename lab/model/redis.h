/*
 * redis.h -- a model of a Redis server: a few keys, a few connections, a clock.
 *
 * Everything is a number.  A value is an integer, or a text that is only compared: TEXT plus the
 * number of its writer.  Members, fields and channels are small numbers.  So a server is plain data
 * of a few hundred bytes, which is cheap to copy.
 *
 * redis.c has keys, the passing of time, restart, failover and eviction.  words.c and queue.c have
 * the commands of src/protocol/store as src/engine/redis/wire sends them; tests/conformance
 * compares each of them with a real redis-server.
 *
 * Time is in hundredths of a millisecond of the server's own clock, so that a clock that is one per
 * cent fast or slow still has whole numbers.
 */
#pragma once

#include "core/core.h"
#include <assert.h>

enum {
    BWL_MODEL_PER_MS      = 100,
    BWL_MODEL_KEYS        = 5,
    BWL_MODEL_ITEMS       = 16, /* members and fields of all keys together */
    BWL_MODEL_CONNECTIONS = 6,  /* two per client: the current one and a broken one */
    BWL_MODEL_CLIENTS     = BWL_MODEL_CONNECTIONS / 2,
    BWL_MODEL_LOCK        = 0, /* the key of the lock */
};

/* A value is an integer below this, or this plus the number of a text. */
#define BWL_MODEL_TEXT (INT64_C(1) << 62)

typedef enum bwl_model_kind {
    BWL_KIND_NONE = 0, /* no such key */
    BWL_KIND_STRING,
    BWL_KIND_ZSET,
    BWL_KIND_HASH,
} bwl_model_kind;

typedef struct bwl_model_key {
    uint8_t  kind;   /* a bwl_model_kind */
    bool     lasts;  /* it has no TTL */
    uint16_t writer; /* the writer of the value, for the invariants */
    int64_t  ends_at;
    int64_t  value; /* STRING */
} bwl_model_key;

/* A member of a sorted set with its score, or a field of a hash with its value. */
typedef struct bwl_model_item {
    bool     is_there;
    uint8_t  key;
    uint32_t member;
    int64_t  value;
} bwl_model_item;

/* The data of a snapshot or a replica. */
typedef struct bwl_model_data {
    bwl_model_key  keys[BWL_MODEL_KEYS];
    bwl_model_item items[BWL_MODEL_ITEMS];
} bwl_model_data;

typedef struct bwl_model_connection {
    bool    is_watching;  /* the key of the lock */
    bool    is_dirty;     /* the key has changed, or has expired, since WATCH */
    uint8_t push_channel; /* see queue.h; 0: none */
} bwl_model_connection;

typedef struct bwl_model_redis {
    int64_t              now;     /* since 1970, by the server's clock */
    int64_t              grace;   /* grace time of expired keys: see redis.c */
    uint64_t             counted; /* by queue.c, since the clock has moved */
    bwl_model_data       data;
    bwl_model_connection connections[BWL_MODEL_CONNECTIONS];
} bwl_model_redis;

/* With no key; `now_ms` since 1970. */
void bwl_model_redis_start(bwl_model_redis *r, bwl_ms now_ms);

/* Advances the server's clock; a negative value sets it back. */
void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths);

void bwl_model_redis_drop(bwl_model_redis *r, unsigned connection);

/* The client's connection broke: moves its state to the connection CLIENTS + its number, for
 * late commands.  (Only the last broken connection is kept.) */
void bwl_model_redis_break(bwl_model_redis *r, unsigned client);

/* The server restarts with older data (a snapshot or a replica); NULL: empty.  Closes all
 * connections. */
void bwl_model_redis_restart(bwl_model_redis *r, const bwl_model_data *with);

/* ---- keys ------------------------------------------------------------------------------------ */

static inline bool bwl_model_exists(const bwl_model_redis *r, unsigned key)
{
    return r->data.keys[key].kind != BWL_KIND_NONE;
}

/* The key was written, also with the same value: marks the connections that watch it. */
void bwl_model_changed(bwl_model_redis *r, unsigned key);

/* Replaces a key of any kind by a string without a TTL. */
void bwl_model_set(bwl_model_redis *r, unsigned key, int64_t value, uint16_t writer);

/* Removes the key with its items, if it exists, as DEL and an eviction do.  True if it did. */
bool bwl_model_remove(bwl_model_redis *r, unsigned key);

/* Sets the end of the key, if it exists.  A key that ends now is removed.  True if it existed. */
bool bwl_model_expire_at(bwl_model_redis *r, unsigned key, int64_t ends_at);

static inline bool bwl_model_expire(bwl_model_redis *r, unsigned key, bwl_ms after_ms)
{
    return bwl_model_expire_at(r, key, r->now + after_ms * BWL_MODEL_PER_MS);
}

int64_t bwl_model_increment(bwl_model_redis *r, unsigned key, uint16_t writer);

/* As PTTL. */
enum { BWL_LEFT_NO_KEY = -2, BWL_LEFT_NO_END = -1 };
int64_t bwl_model_left_ms(const bwl_model_redis *r, unsigned key);

/* ---- items ----------------------------------------------------------------------------------- */

/* NULL if there is none. */
const bwl_model_item *bwl_model_item_of(const bwl_model_redis *r, unsigned key, unsigned member);
unsigned              bwl_model_items_count(const bwl_model_redis *r, unsigned key);

/* Sets the item; creates key and item if missing. */
void bwl_model_item_put(bwl_model_redis *r, bwl_model_kind kind, unsigned key, uint32_t member,
                        int64_t value);

/* Removes the item, if it exists; the key goes with its last item.  True if it existed. */
bool bwl_model_item_remove(bwl_model_redis *r, unsigned key, unsigned member);

/* ---- the lock -------------------------------------------------------------------------------- */

static inline const bwl_model_key *bwl_model_lock(const bwl_model_redis *r)
{
    return &r->data.keys[BWL_MODEL_LOCK];
}

/* The writer of its value; 0: no key. */
static inline uint16_t bwl_model_owner(const bwl_model_redis *r)
{
    return bwl_model_lock(r)->kind == BWL_KIND_NONE ? 0 : bwl_model_lock(r)->writer;
}

/* Its TTL in hundredths of a ms; NEVER: none; 0: no key. */
static inline int64_t bwl_model_left(const bwl_model_redis *r)
{
    const bwl_model_key *k = bwl_model_lock(r);

    if (k->kind == BWL_KIND_NONE)
        return 0;
    return k->lasts ? BWL_NEVER : k->ends_at - r->now;
}
