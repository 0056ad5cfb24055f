/*
 * plan.c -- which fault comes next: see soak.h.
 *
 * All of it is drawn from the seed and from nothing else, so the same seed torments in the same
 * way. What the tormented do about it is their own.
 */
#include "tests/soak/soak.h"

enum { PAUSE_MAX_MS = 80 };

uint64_t soak_random(uint64_t *seed)
{
    uint64_t x = (*seed += 0x9e3779b97f4a7c15u); /* splitmix64 */

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static unsigned any(uint64_t *seed, unsigned bound)
{
    return (unsigned)(soak_random(seed) % bound);
}

static const unsigned weights[SOAK_KINDS_END] = {
#define X(name, weight, words) [SOAK_##name] = weight,
    SOAK_FAULT_MAP(X)
#undef X
};

static const char *const words[SOAK_KINDS_END] = {
#define X(name, weight, words) [SOAK_##name] = words,
    SOAK_FAULT_MAP(X)
#undef X
};

const char *soak_fault_words(soak_kind kind)
{
    return words[kind];
}

static soak_kind draw_kind(uint64_t *seed)
{
    unsigned sum = 0;

    for (unsigned kind = SOAK_NOTHING; kind < SOAK_KINDS_END; kind++)
        sum += weights[kind];
    unsigned at   = any(seed, sum);
    unsigned kind = SOAK_NOTHING;
    while (at >= weights[kind])
        at -= weights[kind++];
    return (soak_kind)kind;
}

soak_fault soak_draw(uint64_t *seed)
{
    soak_fault fault = { .kind = draw_kind(seed) };

    fault.pause_ms = any(seed, PAUSE_MAX_MS);
    fault.victim   = any(seed, 1u << 30);
    fault.share    = any(seed, 1000);
    return fault;
}
