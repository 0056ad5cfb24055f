/*
 * steps.h -- writes the commands of a lock file (REDIS_STEP), and reads their replies.  No I/O.
 */
#pragma once

#include "engine/redis/wire/commands.h"
#include "protocol/lock_file/program.h"

/* Arguments of a command.  Borrowed. */
typedef struct bwl_step_args {
    const bwl_lock_program *program;
    const bwl_lock_op      *op;
    bwl_bytes               key;
    const char             *token;
    bwl_ms                  lease_ms;
    int64_t                 computed;
    int64_t                 end; /* the same, as a time of the server's clock */
} bwl_step_args;

/* Bytes of the commands, at most. */
size_t bwl_step_size_max(const bwl_lock_program *program, const bwl_lock_op *op, size_t key_size);

void bwl_step_write(bwl_resp_writer *writer, const bwl_step_args *args);

/* Frames of the reply. */
unsigned bwl_step_frames(const bwl_lock_op *op);

/* Reads the nth frame (from 0) of the reply; bytes NULL: a value that was too long.  YES for a
 * frame before the last: it is as expected. */
bwl_redis_verdict bwl_step_read(const bwl_lock_op *op, const char *token, unsigned nth,
                                const char *bytes, size_t size, bwl_redis_reply *ret_reply);
