/*
 * plain.h -- the commands of protocol/store/redis.h that are Redis commands without a script: those
 * of the locks of other programs, and WAIT.  No I/O.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_PLAIN_H
#define BWL_ENGINE_REDIS_WIRE_PLAIN_H

#include "engine/redis/wire/commands.h"

/* True for one of these commands. */
bool bwl_plain_is(bwl_redis_command command);

void bwl_plain_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* Reads the nth frame (from 0) of the reply, which is not an error.  YES for a frame before the
 * last: it is as expected. */
bwl_redis_verdict bwl_plain_read(const bwl_redis_command_args *args, unsigned nth,
                                 const char *bytes, size_t size, bwl_redis_reply *ret_reply);

#endif
