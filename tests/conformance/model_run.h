/*
 * model_run.h -- random sequences that run on the lab's model and on a real server; the results are
 * compared.
 *
 * A sequence depends on its number only.  BOWLINE_MODEL_SEED is the number of the first one,
 * BOWLINE_MODEL_RUNS the count; a failure prints the values that repeat the sequence alone.
 * tests/mutants.txt has the faults that must make a sequence differ.
 */
#pragma once

#include "lab/base/dice.h"
#include "tests/lib/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state;
static char     story[16 * 1024]; /* number of the current sequence */
static size_t   story_size;

/* Defined by the test.  Returns true if model and server had the same results. */
static bool play_sequence(uint64_t seed);

static unsigned below(unsigned limit)
{
    return (unsigned)(bwl_dice_draw(&random_state) % limit);
}

__attribute__((format(printf, 1, 2))) static inline void tell(const char *format, ...)
{
    va_list list;
    int     n;

    va_start(list, format);
    n = vsnprintf(story + story_size, sizeof story - story_size, format, list);
    va_end(list);
    if (n > 0 && story_size + (size_t)n < sizeof story)
        story_size += (size_t)n;
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* Returns how many sequences were equal before one differed; all of them, if none did. */
static uint64_t play_sequences(uint64_t seed, uint64_t runs)
{
    for (uint64_t i = 0; i < runs; i++) {
        story_size = 0;
        if (play_sequence(seed + i))
            continue;
        (void)fprintf(stderr, "BOWLINE_MODEL_SEED=%" PRIu64 " BOWLINE_MODEL_RUNS=1\n%s", seed + i,
                      story);
        return i;
    }
    return runs;
}

/* The count, unless the environment has another number; or that number divided by `part`. */
static void must_be_the_same(uint64_t usual, uint64_t part)
{
    uint64_t runs = (number_from("BOWLINE_MODEL_RUNS", usual) + part - 1) / part;
    uint64_t seed = number_from("BOWLINE_MODEL_SEED", 1);

    print_message("# seed %" PRIu64 ", %" PRIu64 " sequences\n", seed, runs);
    assert_true(play_sequences(seed, runs) == runs);
}
