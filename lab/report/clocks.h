/*
 * clocks.h -- what clocks decide, in words: how far a clock is wrong, and a time in the key that a
 * client compares with its clock.
 */
#pragma once

#include "lab/base/say.h"
#include "lab/world/world.h"

/* What a client has read earlier and uses in a comparison. */
typedef struct bwl_clock_past {
    int64_t started_ns; /* its wall clock at the start of the attempt */
    int64_t shown;      /* the value that the last GET returned; 0: nil */
} bwl_clock_past;

/* "clock +3000 ms"; "": its clock is right, or it reads none. */
bwl_text bwl_clock_words(const bwl_world *w, unsigned client);

/* ... of the servers. */
bwl_text bwl_server_clock_words(const bwl_scenario *s);

/* "B's clock is ahead by 3000 ms", after it has stepped. */
bwl_text bwl_clock_step_words(const bwl_world *w, unsigned client);
bwl_text bwl_server_clock_step_words(const bwl_world *w, unsigned server);

/* What the client decides when it gets this answer: "stamp t+2s <= B's clock t+3s (ahead by 3000
 * ms): over"; "": nothing that depends on a time. */
bwl_text bwl_clock_decision_words(const bwl_world *w, unsigned client, const bwl_message *answer,
                                  const bwl_clock_past *past);
