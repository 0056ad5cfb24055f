/*
 * zset_lock.h -- the ZSET words of protocol/store/redis.h, which write what Symfony's RedisStore
 * writes for a lock that one holder has alone.  Pure.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_ZSET_LOCK_H
#define BWL_ENGINE_REDIS_WIRE_ZSET_LOCK_H

#include "engine/redis/wire/commands.h"

/* Is it one of these words?  Each answers 1 or 0. */
bool bwl_zset_lock_is(bwl_redis_command command);

/* The room that the command takes, at most. */
size_t bwl_zset_lock_size_max(size_t key_size);

void bwl_zset_lock_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* As bwl_redis_write_holder_query and its answer.  The value of a set is the member that holds
 * it alone, or empty: its members are readers. */
void bwl_zset_lock_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                      bool use_eval);

#endif
