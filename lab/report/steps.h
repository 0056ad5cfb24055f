/*
 * steps.h -- the commands of a lock file, and the values of keys, in words.
 */
#pragma once

#include "lab/base/say.h"
#include "lab/world/world.h"

/* "SET key A1 NX PX 30"; "MULTI, DEL key, EXEC". */
bwl_text bwl_step_words(const bwl_world *w, const bwl_message *message);

/* The reply to it: "nil", "OK", "1", "A1". */
bwl_text bwl_step_reply_words(const bwl_world *w, const bwl_message *message);

/* A value: a number, a token, a text, or a time of day: "t+31ms" since the beginning. */
bwl_text bwl_value_words(const bwl_world *w, int64_t value);

/* The number as a time, if it may be one, in the unit of the lock; and the name of that unit. */
bwl_text    bwl_time_words(const bwl_world *w, int64_t number);
const char *bwl_unit_name(const bwl_world *w);

/* True if the value is a time and nothing else, so that it does not say who wrote it. */
bool bwl_value_is_time(const bwl_world *w, int64_t value);
