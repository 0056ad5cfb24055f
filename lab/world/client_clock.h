/*
 * client_clock.h -- the clock by which a client measures spans: it may run too fast or too slow.
 *
 * The world counts true milliseconds; a client reads its own, cut off to whole ones.  Its time of
 * day runs at the same rate.
 */
#ifndef BWL_LAB_WORLD_CLIENT_CLOCK_H
#define BWL_LAB_WORLD_CLIENT_CLOCK_H

#include "core/core.h"

enum { BWL_PACE_TRUE = 100 };

typedef struct bwl_lab_clock {
    bwl_ms   now;     /* all deadlines of its hold are by this clock */
    uint16_t pace;    /* hundredths of a ms in a true one */
    uint8_t  beyond;  /* hundredths of a ms that it is past `now` */
    bwl_ms   skew_ms; /* its time of day is that far ahead of the true one */
} bwl_lab_clock;

/* True milliseconds pass. */
static inline void bwl_client_clock_passes(bwl_lab_clock *c, bwl_ms by)
{
    bwl_ms hundredths = c->beyond + by * c->pace;

    c->now += hundredths / BWL_PACE_TRUE;
    c->beyond = (uint8_t)(hundredths % BWL_PACE_TRUE);
}

/* How far the clock is from reading `at`, in hundredths of its own milliseconds. */
static inline int64_t bwl_client_clock_is_off(const bwl_lab_clock *c, bwl_ms at)
{
    if (at == BWL_NEVER)
        return BWL_NEVER;
    return (at - c->now) * BWL_PACE_TRUE - c->beyond;
}

/* In how many true milliseconds, in whole ones, it reads `at`, which lies ahead. */
static inline bwl_ms bwl_client_clock_reads_in(const bwl_lab_clock *c, bwl_ms at)
{
    assert(at > c->now);
    return (bwl_client_clock_is_off(c, at) + c->pace - 1) / c->pace;
}

#endif
