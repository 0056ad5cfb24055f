/*
 * chance.h -- random numbers that are the same on every run (xorshift64).
 */
#pragma once

#include "core/text.h"

#include <stdint.h>

static uint64_t chance_state = UINT64_C(0x9E3779B97F4A7C15);

/* For FIXTURE of suite.h: each test gets the same numbers, in any order of the tests. */
static inline int same_chance(void **state)
{
    chance_state = UINT64_C(0x9E3779B97F4A7C15);
    return 0;
}

static inline uint64_t any(void)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return chance_state;
}

/* From 0 to below - 1. */
static inline unsigned chance(unsigned below)
{
    return (unsigned)(any() >> 32) % below;
}

static inline bwl_random random_bytes(void)
{
    bwl_random random;

    for (unsigned i = 0; i < BWL_RANDOM_BYTES; i++)
        random.bytes[i] = (uint8_t)(any() >> 32);
    return random;
}
