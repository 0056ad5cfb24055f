/*
 * words.h -- the commands of src/protocol/store/redis.h, executed by the model server.
 *
 * Each executes what src/engine/redis/wire sends for it, on the key of the lock.  A value is a
 * number: the text TEXT + token, or the timestamp, or both; see bwl_model_value.
 */
#pragma once

#include "protocol/format/compat_rules.h"
#include "lab/model/redis.h"
#include "protocol/store/redis.h"

/* A value that no rules write. */
#define BWL_MODEL_FOREIGN_VALUE (BWL_MODEL_TEXT + (INT64_C(1) << 61))

/* Added to the value of a holder: its rest, which no client wants. */
#define BWL_MODEL_REST (INT64_C(1) << 60)

/* Plus a fence: the lock is a gate.  See queue.h. */
#define BWL_MODEL_GATE (INT64_C(1) << 59)

typedef struct bwl_model_command_args {
    bwl_redis_command       command;
    uint8_t                 client;         /* the connection, which holds the state of WATCH */
    uint16_t                previous_token; /* ADOPT */
    uint16_t                token;          /* a number: see base/token_number.h */
    bwl_ms                  lease_ms;
    int64_t                 timestamp;
    const bwl_compat_rules *rules; /* NULL: none */

    /* STEP: the file, and the operation. */
    const struct bwl_lock_program *program;
    uint8_t                        step;
} bwl_model_command_args;

typedef struct bwl_model_reply {
    bwl_answer answer;
    bool       is_mine;
    uint64_t   number;
    uint64_t   value_hash;

    /* STEP: `number` is the value. */
    bwl_reply_kind kind;
    bool           is_number;
} bwl_model_reply;

/* Executes a command.  `mutations`: flags of bwl_mutation. */
bwl_model_reply bwl_model_redis_reply(bwl_model_redis *r, const bwl_model_command_args *q,
                                      unsigned mutations);

/* The counter of the lock; 0: none. */
int64_t bwl_model_counter(const bwl_model_redis *r);

/* The value of a token and a timestamp under these rules, and its parts: 0 for a part that it
 * lacks. */
int64_t  bwl_model_value(const bwl_compat_rules *rules, uint16_t token, int64_t timestamp);
int64_t  bwl_model_timestamp_of(const bwl_compat_rules *rules, int64_t value);
uint16_t bwl_model_token_of(const bwl_compat_rules *rules, int64_t value);
