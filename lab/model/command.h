/*
 * command.h -- the commands that the model server executes.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

/* clang-format off */
/* X(NAME) */
#define BWL_MODEL_OPS(X)                                                              \
    X(EXISTS) X(DEL) X(EXPIRE) X(PEXPIRE) X(PEXPIREAT) X(TTL) X(PTTL) X(GET) X(SET)   \
    X(SETNX) X(GETSET) X(INCR) X(ZADD) X(ZREM) X(ZSCORE) X(ZRANK) X(ZCARD) X(ZPOPMIN) \
    X(ZRANGE) X(HSET) X(HGET) X(HDEL) X(HLEN) X(WATCH) X(UNWATCH) X(MULTI) X(EXEC)    \
    X(DISCARD) X(SUBSCRIBE) X(UNSUBSCRIBE) X(PUBLISH) X(TIME) X(NONSENSE)
/* clang-format on */

typedef enum bwl_model_op {
    BWL_OP_NONE = 0,
#define X(name) BWL_OP_##name,
    BWL_MODEL_OPS(X)
#undef X
        BWL_OPS_END
} bwl_model_op;

/* Of SET. */
typedef enum bwl_model_flag {
    BWL_SET_NX      = 1u << 0,
    BWL_SET_XX      = 1u << 1,
    BWL_SET_GET     = 1u << 2,
    BWL_SET_KEEPTTL = 1u << 3,
    BWL_SET_EX      = 1u << 4, /* time: seconds */
    BWL_SET_PX      = 1u << 5, /* time: milliseconds */
    BWL_SET_PXAT    = 1u << 6, /* time: milliseconds since 1970 */
} bwl_model_flag;

_Static_assert((BWL_SET_NX | BWL_SET_XX | BWL_SET_GET | BWL_SET_KEEPTTL | BWL_SET_EX | BWL_SET_PX |
                BWL_SET_PXAT) == (1u << 7) - 1,
               "each flag has a bit of its own");

typedef struct bwl_model_command {
    uint8_t  op;  /* a bwl_model_op */
    uint8_t  key; /* also the channel */
    uint8_t  flags;
    uint16_t member;
    uint16_t writer;
    int64_t  value; /* also a score */
    int64_t  time;  /* in the unit of the command */
} bwl_model_command;
