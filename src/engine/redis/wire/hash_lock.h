/*
 * hash_lock.h -- the HASH words of protocol/store/redis.h as Redisson's own clients would say them,
 * and the names that belong to a key.  Pure.
 *
 *      key         redisson_lock__channel:{key}      0 is published there on a release
 *                  redisson_lock_token:{key}         the counter of RFencedLock
 *
 * A key with a `{` of its own stands there without the braces around it.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_HASH_LOCK_H
#define BWL_ENGINE_REDIS_WIRE_HASH_LOCK_H

#include "engine/redis/wire/commands.h"

#define BWL_HASH_LOCK_CHANNEL "redisson_lock__channel:"
#define BWL_HASH_LOCK_COUNTER "redisson_lock_token:"

/* Is it one of these words? */
bool bwl_hash_lock_is(bwl_redis_command command);

/* The room that the command takes, at most. */
size_t bwl_hash_lock_size_max(size_t key_size);

void bwl_hash_lock_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* What a reply to HASH_TAKE that is no error says.  The others answer 1 or 0. */
bwl_redis_verdict bwl_hash_lock_read(const bwl_resp_value *value, bwl_redis_reply *ret_reply);

/* As bwl_redis_write_holder_query and its answer.  The value of a hash is its only field, or
 * empty. */
void bwl_hash_lock_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                      bool use_eval);

#endif
