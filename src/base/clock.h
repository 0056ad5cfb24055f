/*
 * clock.h -- the clocks.
 *
 * All time limits and leases use CLOCK_BOOTTIME, which counts suspend, as a lease does.
 * CLOCK_MONOTONIC would stop, and a laptop would wake up with a lock that ended hours ago.  The
 * wall clock is the minimum of fences, and some protocols of other programs write it into the
 * store.
 */
#pragma once

#include "core/core.h"

/* Nanoseconds since boot, suspend included. */
int64_t bwl_clock_ns(void);

/* Milliseconds since boot, suspend included, rounded up; at least 1. */
bwl_ms bwl_clock_now(void);

/* Ticks are at the same times in all programs of a machine.  Waking an idle CPU costs more than
 * most of the work done then; so timers that may be late are moved to a tick. */
enum { BWL_CLOCK_TICK_MS = 50 };

/* The first tick at or after `at`; `at` itself if there is none within the slack, or it is
 * NEVER. */
bwl_ms bwl_clock_tick(bwl_ms at, bwl_ms slack_ms);

/* Microseconds since 1970 by the wall clock. */
uint64_t bwl_clock_wall_us(void);

/* Nanoseconds since 1970 by the wall clock; at least 1. */
int64_t bwl_clock_wall_ns(void);
