/*
 * plan.c -- which fault comes next: see soak.h.
 *
 * The seed alone determines the plan, so the same seed injects the same faults. How the members
 * react is not determined.
 */
#include "tests/soak/soak.h"

uint64_t soak_random(uint64_t *seed)
{
    uint64_t x = (*seed += 0x9e3779b97f4a7c15u); /* splitmix64 */

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static unsigned random_below(uint64_t *seed, unsigned bound)
{
    return (unsigned)(soak_random(seed) % bound);
}

static const struct {
    soak_harm   harm;
    const char *description;
} kinds[SOAK_KINDS_END] = {
#define X(name, harm, description) [SOAK_##name] = { SOAK_##harm, description },
    SOAK_FAULT_MAP(X)
#undef X
};

const char *soak_fault_description(soak_kind kind)
{
    return kinds[kind].description;
}

soak_harm soak_fault_harm(soak_kind kind)
{
    return kinds[kind].harm;
}

bool soak_fault_of_server(soak_kind kind)
{
    return kind >= SOAK_CLIENT_KILL && kind < SOAK_CLOCK;
}

static soak_kind draw_kind(uint64_t *seed, const unsigned weights[SOAK_KINDS_END])
{
    unsigned sum = 0;

    for (unsigned kind = SOAK_NOTHING; kind < SOAK_KINDS_END; kind++)
        sum += weights[kind];
    unsigned at   = random_below(seed, sum);
    unsigned kind = SOAK_NOTHING;
    while (at >= weights[kind])
        at -= weights[kind++];
    return (soak_kind)kind;
}

soak_fault soak_draw(uint64_t *seed, const unsigned weights[SOAK_KINDS_END], unsigned pause_ms)
{
    soak_fault fault = { .kind = draw_kind(seed, weights) };

    fault.pause_ms = random_below(seed, pause_ms);
    fault.victim   = random_below(seed, 1u << 30);
    fault.share    = random_below(seed, 1000);
    return fault;
}
