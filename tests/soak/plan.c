/*
 * plan.c -- which fault comes next: see soak.h.
 *
 * All of it is drawn from the seed and from nothing else, so the same seed torments in the same
 * way. What the tormented do about it is their own.
 */
#include "tests/soak/soak.h"

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

static const struct {
    soak_harm   harm;
    const char *words;
} kinds[SOAK_KINDS_END] = {
#define X(name, harm, words) [SOAK_##name] = { SOAK_##harm, words },
    SOAK_FAULT_MAP(X)
#undef X
};

const char *soak_fault_words(soak_kind kind)
{
    return kinds[kind].words;
}

soak_harm soak_fault_harm(soak_kind kind)
{
    return kinds[kind].harm;
}

bool soak_fault_of_servers(soak_kind kind)
{
    return kind >= SOAK_CLIENT_KILL && kind < SOAK_CLOCK;
}

static soak_kind draw_kind(uint64_t *seed, const unsigned weights[SOAK_KINDS_END])
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

soak_fault soak_draw(uint64_t *seed, const unsigned weights[SOAK_KINDS_END], unsigned pause_ms)
{
    soak_fault fault = { .kind = draw_kind(seed, weights) };

    fault.pause_ms = any(seed, pause_ms);
    fault.victim   = any(seed, 1u << 30);
    fault.share    = any(seed, 1000);
    return fault;
}
