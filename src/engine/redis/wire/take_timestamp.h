/*
 * take_timestamp.h -- TAKE_TIMESTAMP of protocol/store/redis.h: the arguments of its script, and
 * its reply.  No I/O.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_TAKE_TIMESTAMP_H
#define BWL_ENGINE_REDIS_WIRE_TAKE_TIMESTAMP_H

#include "engine/redis/wire/commands.h"

enum { BWL_TAKE_TIMESTAMP_ARGUMENTS = 10 };

/* Writes the ARGV of the script. */
void bwl_take_timestamp_write(bwl_resp_writer *writer, const bwl_redis_command_args *args);

/* Reads a reply that is not an error. */
bwl_redis_verdict bwl_take_timestamp_read(const bwl_redis_command_args *args, const char *bytes,
                                          size_t size, bwl_redis_reply *ret_reply);

#endif
