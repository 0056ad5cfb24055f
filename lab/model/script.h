/*
 * script.h -- EVAL of a lock file, on the model server.
 *
 * Lua 5.1 runs the script, as in Redis.  A value is the same text in the script as on a server,
 * except that tokens are short.  A script may pass values on, compare them and count.  The model
 * can store a few constant texts, and no text that contains a token.  A script leaves nothing
 * behind but what it stores: its variables are its own, and those of Lua and redis cannot be set.
 */
#pragma once

#include "lab/model/steps.h"

/* What is wrong with the script, or NULL.  Valid until the next call. */
const char *bwl_model_script_fault(const bwl_lock_text *script);

/* Executes one command that the script calls. */
typedef bwl_model_reply bwl_model_call(bwl_model_redis *r, const bwl_model_command_args *q,
                                       const bwl_call *call);

/* Runs the script of the call; values: its arguments behind the key.  Ends the process with a
 * message if the script makes a text that the model cannot store, has an error of its own, does
 * not end, or needs too much memory. */
bwl_model_reply bwl_model_script(bwl_model_redis *r, const bwl_model_command_args *q,
                                 const bwl_call *call, const int64_t *values, bwl_model_call *run);
