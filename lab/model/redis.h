/*
 * redis.h -- a Redis server, as far as a lock can tell one from another: a few keys, a few
 * connections, a clock.
 *
 * Everything is a number.  A value is an integer, written in decimal by the real server, or a text
 * that is only ever compared: then it is TEXT plus whose text it is.  Members of sorted sets,
 * fields of hashes and channels are small numbers.  So a server is plain data of a few hundred
 * bytes, part of a world that is copied millions of times.
 *
 * It speaks twice: in commands, which tests/conformance plays to a real redis-server as well, and
 * in the words of src/protocol/store/redis.h, each of them the commands that src/engine/redis/wire
 * makes of it.
 *
 *   keys.c         keys, their ends, the passing of time
 *   strings.c      zset.c  hash.c
 *   transaction.c  WATCH, MULTI, EXEC
 *   pubsub.c       channels
 *   faults.c       restart, failover, eviction
 *   redis.c        which command is whose
 *   words.c        the words
 *   queue.c        those of a lock with a queue
 *
 * Time is in hundredths of a millisecond of the server's own clock, so that a clock which is one
 * per cent fast or slow is still a whole number.
 */
#ifndef BWL_LAB_MODEL_REDIS_H
#define BWL_LAB_MODEL_REDIS_H

#include "core/core.h"
#include "lab/model/command.h"

enum {
    BWL_MODEL_PER_MS      = 100,
    BWL_MODEL_KEYS        = 4,
    BWL_MODEL_ITEMS       = 16, /* members and fields of all keys together */
    BWL_MODEL_CONNECTIONS = 6,  /* of each client the present one, and one that broke */
    BWL_MODEL_QUEUE_MAX   = 3,  /* commands between MULTI and EXEC */
    BWL_MODEL_CHANNELS    = 8,
};

/* A value: an integer below this, or this plus the number of a text. */
#define BWL_MODEL_TEXT (INT64_C(1) << 62)

typedef enum bwl_model_kind {
    BWL_KIND_NONE = 0, /* there is no such key */
    BWL_KIND_STRING,
    BWL_KIND_ZSET,
    BWL_KIND_HASH,
} bwl_model_kind;

typedef struct bwl_model_key {
    uint8_t  kind;   /* a bwl_model_kind */
    bool     lasts;  /* it never vanishes by itself */
    uint16_t writer; /* who set the value: nothing that a server knows, but an invariant asks */
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

/* What the server would find again in a snapshot, and what a replica has of it. */
typedef struct bwl_model_data {
    bwl_model_key  keys[BWL_MODEL_KEYS];
    bwl_model_item items[BWL_MODEL_ITEMS];
} bwl_model_data;

typedef struct bwl_model_connection {
    uint8_t           watched; /* one bit for each key */
    uint8_t           channels;
    uint8_t           inbox;    /* see queue.h; 0: none */
    bool              is_dirty; /* a watched key has changed */
    bool              in_multi;
    bool              is_aborted; /* a command between MULTI and EXEC was nonsense */
    uint8_t           queue_count;
    bwl_model_command queue[BWL_MODEL_QUEUE_MAX];
} bwl_model_connection;

typedef struct bwl_model_redis {
    int64_t              now;     /* since 1970, by the server's clock */
    int64_t              grace;   /* how long a key outlives its end: see keys.c */
    uint64_t             counted; /* by queue.c, since the clock has moved */
    bwl_model_data       data;
    bwl_model_connection connections[BWL_MODEL_CONNECTIONS];
} bwl_model_redis;

/* ---- replies --------------------------------------------------------------------------------- */

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

/* X(NAME, how the server's text begins) */
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

/* A message, on its way to a connection that has subscribed. */
typedef struct bwl_model_push {
    uint8_t connection;
    uint8_t channel;
    int64_t value;
} bwl_model_push;

enum {
    BWL_PARTS_MAX  = 1 + BWL_MODEL_QUEUE_MAX * (1 + BWL_MODEL_ITEMS),
    BWL_PUSHES_MAX = BWL_MODEL_QUEUE_MAX * BWL_MODEL_CONNECTIONS,
};

/* The parts of a nested reply, each array before what is in it. */
typedef struct bwl_model_frame {
    uint8_t        parts_count;
    uint8_t        pushes_count;
    bwl_model_part parts[BWL_PARTS_MAX];
    bwl_model_push pushes[BWL_PUSHES_MAX];
} bwl_model_frame;

const char *bwl_model_op_text(bwl_model_op op);
const char *bwl_model_error_text(bwl_model_error error);

/* ---- what it does ---------------------------------------------------------------------------- */

/* With no key; `now_ms` since 1970. */
void bwl_model_redis_start(bwl_model_redis *r, bwl_ms now_ms);

/* Carries one command out, for a connection. */
void bwl_model_redis_do(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                        bwl_model_frame *ret_reply);

/* The server's clock goes on, or is set: back, if negative. */
void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths);

/* The connection is gone, and with it what it watched, queued and subscribed to. */
void bwl_model_redis_drop(bwl_model_redis *r, unsigned connection);

/* The client's connection broke, and what was written on it may still be carried out: by a
 * connection whose number is CLIENTS larger.  (Of two that broke, the later one is remembered.) */
enum { BWL_MODEL_CLIENTS = BWL_MODEL_CONNECTIONS / 2 };
void bwl_model_redis_break(bwl_model_redis *r, unsigned client);

/* The server comes back with the data of some time before: a snapshot, or a replica takes its
 * place; NULL: with nothing.  All connections are gone. */
void bwl_model_redis_restart(bwl_model_redis *r, const bwl_model_data *with);

/* The server is short of memory, and gives up this key, which is there. */
void bwl_model_redis_evict(bwl_model_redis *r, unsigned key);

/* Another program sets a key, without an end. */
void bwl_model_redis_set_by(bwl_model_redis *r, unsigned key, int64_t value, uint16_t writer);

/* ---- the key of the lock --------------------------------------------------------------------- */

enum { BWL_MODEL_LOCK = 0 };

static inline const bwl_model_key *bwl_model_lock(const bwl_model_redis *r)
{
    return &r->data.keys[BWL_MODEL_LOCK];
}

/* Whose value it has; 0: there is no key. */
static inline uint16_t bwl_model_owner(const bwl_model_redis *r)
{
    return bwl_model_lock(r)->kind == BWL_KIND_NONE ? 0 : bwl_model_lock(r)->writer;
}

/* Hundredths of a millisecond until it vanishes; NEVER if it does not, 0 if it is not there. */
static inline int64_t bwl_model_left(const bwl_model_redis *r)
{
    const bwl_model_key *k = bwl_model_lock(r);

    if (k->kind == BWL_KIND_NONE)
        return 0;
    return k->lasts ? BWL_NEVER : k->ends_at - r->now;
}

#endif
