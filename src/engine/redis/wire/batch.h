/*
 * batch.h -- many extensions as one call of a script, with one answer for each.  Pure.
 *
 * Each is the word EXTEND of its key, as if it were asked alone, all of them at the same moment:
 * protocol/store/redis.h and protocol/store/queue.h say what that means.  What fails for one of
 * them is that one's answer; when the call as a whole fails, none was carried out.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_BATCH_H
#define BWL_ENGINE_REDIS_WIRE_BATCH_H

#include "engine/redis/wire/commands.h"

/* MAX: a server does nothing else meanwhile, and more of them make none of them cheaper.  MIN: so
 * few are as cheap alone.  docs/design/renewals.md has the figures. */
enum { BWL_BATCH_MIN = 4, BWL_BATCH_MAX = 32 };

/* Is it a word of which many can be asked at once? */
bool bwl_batch_takes(bwl_redis_command command);

/* The room that the command takes, at most: `keys_size` bytes in all keys together. */
size_t bwl_batch_size_max(unsigned count, size_t keys_size);

/* The command in its parts: the beginning, all keys, the value of each, and the lease that they
 * have in common. */
void bwl_batch_write_begin(bwl_resp_writer *writer, unsigned count, bool use_eval);
void bwl_batch_write_key(bwl_resp_writer *writer, const char *key, size_t size);
void bwl_batch_write_value(bwl_resp_writer *writer, const bwl_redis_command_args *args);
void bwl_batch_write_lease(bwl_resp_writer *writer, bwl_ms lease_ms);

typedef enum bwl_batch_verdict {
    BWL_BATCH_EACH = 1,  /* each has its answer                                                  */
    BWL_BATCH_RETRYABLE, /* the server cannot serve now: none was carried out */
    BWL_BATCH_ALONE,     /* the call as a whole was refused: each has to be asked alone          */
    BWL_BATCH_NOSCRIPT,  /* as of bwl_redis_read                                                 */
    BWL_BATCH_STRANGE,
} bwl_batch_verdict;

/* 0 of one that has to be asked alone; else YES or NO. */
typedef struct bwl_batch_reply {
    bwl_answer answers[BWL_BATCH_MAX];
} bwl_batch_reply;

/* What a whole frame says to a batch of `count`.  The reply is written if it is EACH. */
bwl_batch_verdict bwl_batch_read(unsigned count, const char *bytes, size_t size,
                                 bwl_batch_reply *ret_reply);

#endif
