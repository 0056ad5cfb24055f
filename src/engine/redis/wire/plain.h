/*
 * plain.h -- the words of protocol/store/redis.h that are plain commands: those of other people's
 * locks, and WAIT.  Pure.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_PLAIN_H
#define BWL_ENGINE_REDIS_WIRE_PLAIN_H

#include "engine/redis/wire/commands.h"

/* Is it one of these words? */
bool bwl_plain_is(bwl_redis_command command);

void bwl_plain_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* What the nth frame (from 0) that answers the question says, when it is no error.  YES of a frame
 * that is not the last one: as it should be. */
bwl_redis_verdict bwl_plain_read(const bwl_redis_command_args *args, unsigned nth,
                                 const char *bytes, size_t size, bwl_redis_reply *ret_reply);

#endif
