/*
 * hash_lock.h -- the HASH commands of protocol/store/redis.h in the format of Redisson, and the
 * names that belong to a key.  No I/O.
 *
 *      redisson_lock__channel:{key}      the channel on which a release publishes 0
 *      redisson_lock_token:{key}         the counter of RFencedLock
 *
 * If the key contains `{`, these names have no added braces.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_HASH_LOCK_H
#define BWL_ENGINE_REDIS_WIRE_HASH_LOCK_H

#include "engine/redis/wire/commands.h"

#define BWL_HASH_LOCK_CHANNEL "redisson_lock__channel:"
#define BWL_HASH_LOCK_COUNTER "redisson_lock_token:"

/* True for one of these commands. */
bool bwl_hash_lock_is(bwl_redis_command command);

/* Bytes of the command, at most. */
size_t bwl_hash_lock_size_max(size_t key_size);

void bwl_hash_lock_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* Reads a reply to HASH_TAKE that is not an error.  The replies to the others are 1 or 0. */
bwl_redis_verdict bwl_hash_lock_read(const bwl_resp_value *value, bwl_redis_reply *ret_reply);

/* As bwl_redis_write_holder_query.  The value in the reply is the only field of the hash; with more
 * fields it is empty. */
void bwl_hash_lock_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                      bool use_eval);

#endif
