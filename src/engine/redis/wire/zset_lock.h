/*
 * zset_lock.h -- the ZSET commands of protocol/store/redis.h, in the format of Symfony's
 * RedisStore for an exclusive lock.  No I/O.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_ZSET_LOCK_H
#define BWL_ENGINE_REDIS_WIRE_ZSET_LOCK_H

#include "engine/redis/wire/commands.h"

/* True for one of these commands.  The reply to each is 1 or 0. */
bool bwl_zset_lock_is(bwl_redis_command command);

/* Bytes of the command, at most. */
size_t bwl_zset_lock_size_max(size_t key_size);

void bwl_zset_lock_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* As bwl_redis_write_holder_query.  The value in the reply is the member of the exclusive holder;
 * if all members are readers it is empty. */
void bwl_zset_lock_write_holder_query(bwl_resp_writer *writer, const char *key, size_t key_size,
                                      bool use_eval);

#endif
