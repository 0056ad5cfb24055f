/*
 * steps.h -- the commands of a lock file, executed by the model server: REDIS_STEP.
 *
 * A value is a number, or TEXT plus the number of a token, or a text of the file: TEXT plus its
 * index in the upper bits (bwl_model_text_value).
 */
#pragma once

#include "lab/model/words.h"
#include "protocol/lock_file/program.h"

/* Executes the command, or the transaction, of the operation q->step.  An answer other than YES is
 * an error reply, and the command has done nothing. */
bwl_model_reply bwl_model_step(bwl_model_redis *r, const bwl_model_command_args *q);

/* The value of the i-th text of a file: a number if its text is one. */
int64_t bwl_model_text_value(const bwl_lock_program *program, unsigned i);

/* The value of any text: a number, a text of the file, one of another program, or one that a script
 * has made.  -1: there is no room for more. */
int64_t bwl_model_value_of_text(const bwl_lock_program *program, const char *bytes, size_t size);

/* The text of a value; NULL: it is a number, or a token, whose number is *ret_token. */
const bwl_lock_text *bwl_model_text_of(const bwl_lock_program *program, int64_t value,
                                       uint16_t *ret_token);

/* What a client compares: equal if and only if the values are. */
uint64_t bwl_model_hash_of(const bwl_lock_program *program, int64_t value);

/* True if the operation ends what its connection watches. */
bool bwl_model_step_ends_watch(const bwl_lock_program *program, unsigned step);
