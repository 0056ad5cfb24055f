/*
 * take.h -- TAKE_STAMP of protocol/store/redis.h: what its script is given, and what it answers.
 * Pure.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_TAKE_H
#define BWL_ENGINE_REDIS_WIRE_TAKE_H

#include "engine/redis/wire/words.h"

enum { BWL_TAKE_ARGUMENTS = 10 };

/* Writes the ARGV of the script. */
void bwl_take_write(bwl_resp_writer *writer, const bwl_redis_question *question);

/* What a frame that is no error says. */
bwl_redis_verdict bwl_take_read(const bwl_redis_question *question, const char *bytes, size_t size,
                                bwl_redis_reply *ret_reply);

#endif
