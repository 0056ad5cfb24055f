/*
 * stats.h -- what the locks of a shard have done, in numbers since it was opened.
 *
 * A shard owns its numbers, and each lock its own part.  They are written only by the functions
 * here, with the shard's mutex: no counter is shared between threads, so counting costs a few
 * additions in memory that the call uses anyway.  The lock in the store of a local group is not
 * counted: its waiters are.
 */
#pragma once

#include "core/core.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct bwl_stats {
    uint64_t acquired;
    uint64_t not_acquired; /* held by others: BUSY, TIMEOUT */
    uint64_t released;
    uint64_t lost;
    uint64_t not_released; /* UNKNOWN, UNREACHABLE, REFUSED */
    uint64_t renewals;
    uint64_t renewals_late;
    uint64_t renewals_failed;
    uint64_t connections;
    bwl_ms   waited_ms; /* by those that were acquired */
    bwl_ms   waited_max_ms;
    bwl_ms   held_ms; /* by those that have ended */
} bwl_stats;

/* The part of a lock. */
typedef struct bwl_lock_stats {
    bwl_ms since; /* when the acquire began; of a hold: when it was acquired */
    bool   holds;
} bwl_lock_stats;

/* An acquire, or the acquire of a yield, has ended at `now`.  HELD: acquired.  An end for which
 * nothing is counted: cancelled, unreachable, refused, unknown. */
void bwl_stats_acquire_ended(bwl_stats *s, bwl_lock_stats *lock, bwl_outcome_kind kind, bwl_ms now);

/* A hold has ended; no effect if its end was counted before. */
void bwl_stats_hold_ended(bwl_stats *s, bwl_lock_stats *lock, bwl_outcome_kind kind, bwl_ms now);

/* An extension has ended.  left_ms is the rest of the lease before it. */
void bwl_stats_renewed(bwl_stats *s, bool is_done, bwl_ms left_ms, bwl_ms lease_ms);

/* Adds the numbers of another shard. */
void bwl_stats_add(bwl_stats *ret_sum, const bwl_stats *more);
