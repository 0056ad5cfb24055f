/*
 * time.h -- times in milliseconds, the drift allowance, and the current time on both clocks.
 */
#ifndef BWL_TIME_H
#define BWL_TIME_H

#include <assert.h>
#include <stdint.h>

/* Milliseconds: a time on a monotonic clock that also runs during suspend, or a duration. */
typedef int64_t bwl_ms;
#define BWL_NEVER INT64_MAX

/* at + by without overflow: the largest result is BWL_NEVER.  by: 0 or more. */
static inline bwl_ms bwl_ms_add(bwl_ms at, bwl_ms by)
{
    assert(by >= 0);
    return at > BWL_NEVER - by ? BWL_NEVER : at + by;
}

static inline bwl_ms bwl_ms_min(bwl_ms a, bwl_ms b)
{
    return a < b ? a : b;
}

static inline bwl_ms bwl_ms_max(bwl_ms a, bwl_ms b)
{
    return a > b ? a : b;
}

/* The drift allowance: how far the clocks of client and server may move apart during one lease.
 * 1 % and 2 ms, as in redis.io/docs/manual/patterns/distributed-locks.  The rate of a quartz clock
 * is 100 times better; a clock that is being slewed may be worse:
 * docs/explanation/guarantees.md. */
static inline bwl_ms bwl_drift_ms(bwl_ms lease_ms)
{
    return lease_ms / 100 + 2;
}

/* The allowance in millionths of the lease, 0 .. 999999.  0: the allowance of bwl_drift_ms. */
static inline bwl_ms bwl_drift_named_ms(bwl_ms lease_ms, uint32_t drift_ppm)
{
    assert(lease_ms >= 0 && drift_ppm < 1000000);
    return drift_ppm == 0 ? bwl_drift_ms(lease_ms) : lease_ms * drift_ppm / 1000000;
}

/* The current time on both clocks: the monotonic one, which every promise is counted on, and the
 * time of day, which some protocols write into the store. */
typedef struct bwl_moment {
    bwl_ms  now;
    int64_t wall_ns; /* nanoseconds since 1970; 0 unless uses_wall */
} bwl_moment;

#endif
