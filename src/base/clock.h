/*
 * clock.h -- what time it is.
 *
 * Everything that is promised is counted on CLOCK_BOOTTIME, which goes on while the machine is
 * suspended: a lease does.  CLOCK_MONOTONIC would stop, and a laptop would wake up believing in a
 * lock that ended hours ago.  The wall clock is a floor for fences, and what some protocols of
 * others write into the store.
 */
#pragma once

#include "core/core.h"

/* Nanoseconds since boot, suspend included. */
int64_t bwl_clock_ns(void);

/* Milliseconds since boot, suspend included, begun ones counted as whole; at least 1. */
bwl_ms bwl_clock_now(void);

/* Ticks are the same moments for all programs of a machine.  To wake a CPU that sleeps costs more
 * than most of what is done then; so those who may choose their moment come together. */
enum { BWL_CLOCK_TICK_MS = 50 };

/* The first tick not before `at`; `at` itself if there is none within the slack, or it is NEVER. */
bwl_ms bwl_clock_tick(bwl_ms at, bwl_ms slack_ms);

/* Microseconds since 1970 by the wall clock. */
uint64_t bwl_clock_wall_us(void);

/* Nanoseconds since 1970 by the wall clock; at least 1. */
int64_t bwl_clock_wall_ns(void);
