/*
 * redis.h -- a model of a Redis server: a few keys, a few connections, a clock.
 *
 * Everything is a number.  A value is an integer, or a text that is only compared: TEXT plus the
 * number of its writer.  Members, fields and channels are small numbers.  So a server is plain data
 * of a few hundred bytes, which is cheap to copy.
 *
 * It has two interfaces: Redis commands, which tests/conformance compares with a real redis-server,
 * and the commands of src/protocol/store/redis.h as src/engine/redis/wire sends them.
 *
 *    keys.c         keys, their expiry, the passing of time
 *    strings.c      zset.c
 *    transaction.c  WATCH, MULTI, EXEC
 *    faults.c       restart, failover, eviction
 *    redis.c        dispatches commands; channels and hashes
 *    words.c        the commands of the protocols
 *    queue.c        those of a lock with a queue
 *
 * Time is in hundredths of a millisecond of the server's own clock, so that a clock that is one per
 * cent fast or slow still has whole numbers.
 */
#pragma once

#include "core/core.h"
#include "lab/model/command.h"

enum {
    BWL_MODEL_PER_MS      = 100,
    BWL_MODEL_KEYS        = 4,
    BWL_MODEL_ITEMS       = 16, /* members and fields of all keys together */
    BWL_MODEL_CONNECTIONS = 6,  /* two per client: the current one and a broken one */
    BWL_MODEL_QUEUE_MAX   = 3,  /* commands between MULTI and EXEC */
    BWL_MODEL_CHANNELS    = 8,
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
    uint8_t           watched; /* one bit for each key */
    uint8_t           channels;
    uint8_t           push_channel; /* see queue.h; 0: none */
    bool              is_dirty;     /* a watched key has changed */
    bool              in_multi;
    bool              is_aborted; /* a command between MULTI and EXEC was invalid */
    uint8_t           queue_count;
    bwl_model_command queue[BWL_MODEL_QUEUE_MAX];
} bwl_model_connection;

typedef struct bwl_model_redis {
    int64_t              now;     /* since 1970, by the server's clock */
    int64_t              grace;   /* grace time of expired keys: see keys.c */
    uint64_t             counted; /* by queue.c, since the clock has moved */
    bwl_model_data       data;
    bwl_model_connection connections[BWL_MODEL_CONNECTIONS];
} bwl_model_redis;

typedef enum bwl_model_part_kind {
    BWL_PART_NIL = 1,
    BWL_PART_OK,
    BWL_PART_QUEUED,
    BWL_PART_INTEGER,
    BWL_PART_VALUE,
    BWL_PART_MEMBER,
    BWL_PART_SCORE,
    BWL_PART_ARRAY, /* of the `number` parts that follow */
    BWL_PART_ERROR, /* `number` is a bwl_model_error */
} bwl_model_part_kind;

/* X(NAME, start of the server's text) */
#define BWL_MODEL_ERRORS(X)                        \
    X(WRONGTYPE, "WRONGTYPE ")                     \
    X(NOT_INTEGER, "ERR value is not an integer")  \
    X(INVALID_EXPIRE, "ERR invalid expire time")   \
    X(UNKNOWN, "ERR unknown command")              \
    X(EXECABORT, "EXECABORT ")                     \
    X(EXEC_ALONE, "ERR EXEC without MULTI")        \
    X(DISCARD_ALONE, "ERR DISCARD without MULTI")  \
    X(NESTED, "ERR MULTI calls can not be nested") \
    X(WATCH_INSIDE, "ERR WATCH inside MULTI")

typedef enum bwl_model_error {
    BWL_ERROR_NONE = 0,
#define X(name, text) BWL_ERROR_##name,
    BWL_MODEL_ERRORS(X)
#undef X
} bwl_model_error;

typedef struct bwl_model_part {
    uint8_t kind; /* a bwl_model_part_kind */
    int64_t number;
} bwl_model_part;

/* A message to a connection that has subscribed. */
typedef struct bwl_model_push {
    uint8_t connection;
    uint8_t channel;
    int64_t value;
} bwl_model_push;

enum {
    BWL_PARTS_MAX  = 1 + BWL_MODEL_QUEUE_MAX * (1 + BWL_MODEL_ITEMS),
    BWL_PUSHES_MAX = BWL_MODEL_QUEUE_MAX * BWL_MODEL_CONNECTIONS,
};

/* The parts of a nested reply, each array before its elements. */
typedef struct bwl_model_frame {
    uint8_t        parts_count;
    uint8_t        pushes_count;
    bwl_model_part parts[BWL_PARTS_MAX];
    bwl_model_push pushes[BWL_PUSHES_MAX];
} bwl_model_frame;

const char *bwl_model_op_text(bwl_model_op op);
const char *bwl_model_error_text(bwl_model_error error);

/* With no key; `now_ms` since 1970. */
void bwl_model_redis_start(bwl_model_redis *r, bwl_ms now_ms);

void bwl_model_redis_do(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                        bwl_model_frame *ret_reply);

/* Advances the server's clock; a negative value sets it back. */
void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths);

void bwl_model_redis_drop(bwl_model_redis *r, unsigned connection);

/* The client's connection broke: moves its state to the connection CLIENTS + its number, for
 * late commands.  (Only the last broken connection is kept.) */
enum { BWL_MODEL_CLIENTS = BWL_MODEL_CONNECTIONS / 2 };
void bwl_model_redis_break(bwl_model_redis *r, unsigned client);

/* The server restarts with older data (a snapshot or a replica); NULL: empty.  Closes all
 * connections. */
void bwl_model_redis_restart(bwl_model_redis *r, const bwl_model_data *with);

void bwl_model_redis_evict(bwl_model_redis *r, unsigned key);

/* Another program sets a key without a TTL. */
void bwl_model_redis_set_by(bwl_model_redis *r, unsigned key, int64_t value, uint16_t writer);

enum { BWL_MODEL_LOCK = 0 };

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
