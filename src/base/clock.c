#include "base/clock.h"

#include <time.h>

static struct timespec read_clock(clockid_t clock)
{
    struct timespec t;

    int status = clock_gettime(clock, &t);
    assert(status == 0); /* fails only without CLOCK_BOOTTIME: Linux 2.6.39 and later have it */
    (void)status;
    return t;
}

int64_t bwl_clock_ns(void)
{
    struct timespec t = read_clock(CLOCK_BOOTTIME);

    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bwl_ms bwl_clock_now(void)
{
    return bwl_clock_ns() / 1000000 + 1;
}

bwl_ms bwl_clock_tick(bwl_ms at, bwl_ms slack_ms)
{
    bwl_ms off = at % BWL_CLOCK_TICK_MS;

    if (at == BWL_NEVER || off == 0 || BWL_CLOCK_TICK_MS - off > slack_ms)
        return at;
    return at + BWL_CLOCK_TICK_MS - off;
}

int64_t bwl_clock_wall_ns(void)
{
    struct timespec t = read_clock(CLOCK_REALTIME);

    return t.tv_sec <= 0 ? 1 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t bwl_clock_wall_us(void)
{
    return (uint64_t)bwl_clock_wall_ns() / 1000;
}
