/*
 * transaction.h -- writes the commands of protocol/store/transaction.h, and reads their replies.
 * No I/O.
 */
#pragma once

#include "engine/redis/wire/commands.h"
#include "protocol/store/transaction.h"

/* Bytes of the commands, at most. */
size_t bwl_transaction_size_max(const bwl_transaction_args *args);

void bwl_transaction_write(bwl_resp_writer *writer, const bwl_transaction_args *args);

/* Frames of its reply. */
unsigned bwl_transaction_frames(bwl_transaction_command command);

/* True if the nth frame (from 0) may be a value of any length. */
bool bwl_transaction_shows_value(bwl_transaction_command command, unsigned nth);

typedef struct bwl_transaction_reply {
    bwl_answer  answer;
    bool        is_long;    /* FOREIGN_VALUE: the value is longer than a frame can hold */
    const char *value;      /* READ, of the frame with the value; NULL: there is no key */
    size_t      value_size; /* borrowed from the frame */
    const char *error; /* RETRYABLE, REFUSED, FOREIGN_VALUE: the error, as a frame; NULL: none */
    size_t      error_size;
} bwl_transaction_reply;

/* Reads the nth frame of the reply.  bytes NULL: a value that was too long.  YES for a frame
 * before the last: it is as expected.  Returns ANSWER or STRANGE. */
bwl_redis_verdict bwl_transaction_read(bwl_transaction_command command, unsigned nth,
                                       const char *bytes, size_t size,
                                       bwl_transaction_reply *ret_reply);
