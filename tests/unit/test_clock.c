/*
 * test_clock.c -- the clocks of base/clock.h.
 *
 * Each clock agrees with the kernel's clock of the same name to the millisecond, it advances, and
 * it never goes back.
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

TEST(clock_counts_from_boot_with_suspend)
{
    bwl_ms before = ms_of(CLOCK_BOOTTIME);
    bwl_ms now    = bwl_clock_now();
    bwl_ms after  = ms_of(CLOCK_BOOTTIME);
    assert_in_range(now, before + 1, after + 1); /* one more than the kernel's: it is never 0 */
}

TEST(clock_advances_and_never_goes_back)
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

TEST(clock_times_without_slack_are_exact)
{
    assert_int_equal(bwl_clock_tick(1001, 0), 1001);
    assert_int_equal(bwl_clock_tick(1001, 48), 1001);
    assert_int_equal(bwl_clock_tick(1001, 49), 1050);
    assert_int_equal(bwl_clock_tick(1049, 1), 1050);
    assert_int_equal(bwl_clock_tick(BWL_NEVER, BWL_CLOCK_TICK_MS), BWL_NEVER);
    assert_int_equal(bwl_clock_tick(0, BWL_CLOCK_TICK_MS), 0);
}
