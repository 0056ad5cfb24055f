/*
 * others.h -- the locks of --and: acquired together with that of NAME, and held as long.
 */
#pragma once

#include <bowline/bowline.h>

#include <stdint.h>

#include "cli/settings/options.h"
#include "cli/text/say.h"

typedef struct others {
    bowline_hold *holds[OTHERS_MAX];
    uint64_t      locks[OTHERS_MAX]; /* their hashes: nested.h */
} others;

/* NAME and the names of --and: the i-th, how many there are, and words for a message. */
const char *names_at(const run_options *o, size_t i);
size_t      names_count(const run_options *o);
words       names_words(const run_options *o);
words       names_were(const run_options *o); /* with "was" or "were" */

/* The name of this hold, which lives as long as the options. */
const char *names_of_hold(const run_options *o, const bowline_hold *hold);

/* The hold that ends first, of `hold` and the others. */
bowline_hold *others_first_to_end(const others *s, const run_options *o, bowline_hold *hold);

/* The fences of all, with a blank between; "": none has one. */
words others_fences(const others *s, const run_options *o, const bowline_hold *hold);
