/*
 * tape.h -- the bytes of a fuzzer, read one after the other; zeros after their end.
 */
#pragma once

#include "fuzz.h"

enum { LEASE_MIN_MS = 3 }; /* with a shorter lease, the drift allowance is all of it */

typedef struct tape {
    const uint8_t *bytes;
    size_t         left;
} tape;

static inline uint8_t take(tape *t)
{
    if (t->left == 0)
        return 0;
    t->left--;
    return *t->bytes++;
}

static inline uint16_t take_two(tape *t)
{
    uint16_t high = take(t);

    return (uint16_t)(high << 8 | take(t));
}

static inline bwl_ms take_lease(tape *t)
{
    static const bwl_ms usual_ms[] = { 30000, 100, 1000, 86400000 };
    uint8_t             choice     = take(t);

    return choice < 128 ? usual_ms[choice % 4] : LEASE_MIN_MS + take_two(t);
}
