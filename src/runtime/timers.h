/*
 * timers.h -- a binary heap of timers: which one is due next.
 *
 * A timer is embedded in its owner, which its `expired` function computes from it.  The heap holds
 * pointers only.
 */
#pragma once

#include "core/core.h"

typedef struct bwl_timer {
    bwl_ms at;                           /* BWL_NEVER: not set */
    void (*expired)(struct bwl_timer *); /* called by the loop; the timer is already cleared */
    size_t index;                        /* in the heap, from 1; 0: not in it */
} bwl_timer;

typedef struct bwl_timers {
    bwl_timer **heap;
    size_t      count;
    size_t      capacity;
} bwl_timers;

/* Makes room for `count` timers, so that setting one cannot fail.  False: out of memory. */
bool bwl_timers_reserve(bwl_timers *timers, size_t count);
void bwl_timers_free(bwl_timers *timers);

/* Sets, moves or (BWL_NEVER) clears a timer.  Needs room: see reserve. */
void bwl_timers_set(bwl_timers *timers, bwl_timer *timer, bwl_ms at);

/* When the next timer is due; BWL_NEVER: none is set. */
bwl_ms bwl_timers_next(const bwl_timers *timers);

/* Removes the earliest timer that is due at `now`.  NULL: none is due. */
bwl_timer *bwl_timers_take_due(bwl_timers *timers, bwl_ms now);
