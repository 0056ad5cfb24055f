/*
 * client_clock.h -- a client's monotonic clock, which may run too fast or too slow.
 *
 * The world counts true milliseconds.  A client reads whole milliseconds of its own clock.  Its
 * wall clock runs at the same rate.
 */
#pragma once

#include "core/core.h"

enum { BWL_PACE_TRUE = 100 };

typedef struct bwl_lab_clock {
    bwl_ms   now;     /* the deadlines of the hold are on this clock */
    uint16_t pace;    /* hundredths of a ms per true ms */
    uint8_t  beyond;  /* hundredths of a ms beyond `now` */
    bwl_ms   skew_ms; /* how far its wall clock is ahead */
} bwl_lab_clock;

/* Advances by true milliseconds. */
static inline void bwl_client_clock_passes(bwl_lab_clock *c, bwl_ms by)
{
    bwl_ms hundredths = c->beyond + by * c->pace;

    c->now += hundredths / BWL_PACE_TRUE;
    c->beyond = (uint8_t)(hundredths % BWL_PACE_TRUE);
}

/* The distance to `at`, in hundredths of the clock's own milliseconds. */
static inline int64_t bwl_client_clock_is_off(const bwl_lab_clock *c, bwl_ms at)
{
    if (at == BWL_NEVER)
        return BWL_NEVER;
    return (at - c->now) * BWL_PACE_TRUE - c->beyond;
}

/* The number of whole true milliseconds until the clock reads `at`, which is in the future. */
static inline bwl_ms bwl_client_clock_reads_in(const bwl_lab_clock *c, bwl_ms at)
{
    assert(at > c->now);
    return (bwl_client_clock_is_off(c, at) + c->pace - 1) / c->pace;
}
