/*
 * batch.h -- many extensions as one call of a script, with one reply for each.  No I/O.
 *
 * Each is the EXTEND command of its key, with the meaning of protocol/store/redis.h and
 * protocol/store/queue.h, all of them at the same time.  An error of one is the reply to that one;
 * if the whole call fails, none was carried out.
 */
#pragma once

#include "engine/redis/wire/commands.h"

/* MAX: a server does nothing else during the call, and a larger batch is not cheaper for each.
 * MIN: a smaller batch costs as much as single commands.  See docs/design/renewals.md. */
enum { BWL_BATCH_MIN = 4, BWL_BATCH_MAX = 32 };

/* True for a command that can be in a batch. */
bool bwl_batch_takes(bwl_redis_command command);

/* Bytes of the command, at most.  keys_size: of all keys together. */
size_t bwl_batch_size_max(unsigned count, size_t keys_size);

/* Writes the beginning of the command.  All keys follow, the value of each
 * (bwl_redis_write_value), and the common lease. */
void bwl_batch_write_begin(bwl_resp_writer *writer, unsigned count, bool use_eval);

typedef enum bwl_batch_verdict {
    BWL_BATCH_EACH = 1,  /* each has its reply */
    BWL_BATCH_RETRYABLE, /* the server cannot serve now: none was carried out */
    BWL_BATCH_ALONE,     /* the whole call was refused: send each alone */
    BWL_BATCH_NOSCRIPT,  /* as BWL_REDIS_NOSCRIPT */
    BWL_BATCH_STRANGE,   /* as BWL_REDIS_STRANGE */
} bwl_batch_verdict;

/* YES or NO for each; 0: send this one alone. */
typedef struct bwl_batch_reply {
    bwl_answer answers[BWL_BATCH_MAX];
} bwl_batch_reply;

/* Reads the frame that replies to a batch of `count`.  Writes the reply if the verdict is EACH. */
bwl_batch_verdict bwl_batch_read(unsigned count, const char *bytes, size_t size,
                                 bwl_batch_reply *ret_reply);
