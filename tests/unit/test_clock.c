/*
 * test_clock.c -- what time it is.
 *
 * Little can be said of a clock without another clock: it agrees with the kernel's of the same
 * name, to the millisecond, it goes on, and it does not go back.
 */
#include "base/clock.h"
#include "tests/lib/suite.h"

#include <time.h>

static bwl_ms ms_of(clockid_t clock)
{
    struct timespec t;

    assert_int_equal(clock_gettime(clock, &t), 0);
    return (bwl_ms)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

TEST(clock_counts_from_boot_and_suspend_is_counted)
{
    bwl_ms before = ms_of(CLOCK_BOOTTIME);
    bwl_ms now    = bwl_clock_now();
    bwl_ms after  = ms_of(CLOCK_BOOTTIME);
    assert_in_range(now, before + 1, after + 1); /* one more than the kernel's: never 0 */
}

TEST(clock_goes_on_and_never_back)
{
    bwl_ms start = bwl_clock_now();
    bwl_ms now   = start;

    while (now < start + 20) {
        bwl_ms next = bwl_clock_now();
        assert_true(next >= now);
        now = next;
    }
    assert_true(start >= 1);
}

TEST(clock_wall_counts_microseconds_since_1970)
{
    bwl_ms   before = ms_of(CLOCK_REALTIME);
    uint64_t now_us = bwl_clock_wall_us();
    bwl_ms   after  = ms_of(CLOCK_REALTIME);
    assert_in_range(now_us / 1000, (uint64_t)before, (uint64_t)after);
}

TEST(clock_wall_counts_nanoseconds_since_1970)
{
    bwl_ms  before = ms_of(CLOCK_REALTIME);
    int64_t now_ns = bwl_clock_wall_ns();
    bwl_ms  after  = ms_of(CLOCK_REALTIME);
    assert_in_range(now_ns / 1000000, before, after);
}

TEST(clock_what_may_not_slip_so_far_does_not)
{
    assert_int_equal(bwl_clock_tick(1001, 0), 1001);
    assert_int_equal(bwl_clock_tick(1001, 48), 1001);
    assert_int_equal(bwl_clock_tick(1001, 49), 1050);
    assert_int_equal(bwl_clock_tick(1049, 1), 1050);
    assert_int_equal(bwl_clock_tick(BWL_NEVER, BWL_CLOCK_TICK_MS), BWL_NEVER);
    assert_int_equal(bwl_clock_tick(0, BWL_CLOCK_TICK_MS), 0);
}
