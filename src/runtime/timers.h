/*
 * timers.h -- whose alarm is next: a binary heap of the things that have one.
 *
 * A thing embeds a bwl_timer and finds itself from it.  The heap holds pointers, no more.
 */
#ifndef BWL_RUNTIME_TIMERS_H
#define BWL_RUNTIME_TIMERS_H

#include "core/core.h"

typedef struct bwl_timer {
    bwl_ms at;    /* BWL_NEVER: not set                                                        */
    size_t place; /* in the heap, counted from 1; 0: not in it                                  */
} bwl_timer;

typedef struct bwl_timers {
    bwl_timer **heap;
    size_t      count;
    size_t      room;
} bwl_timers;

/* Room for one timer more, so that setting it cannot fail.  False: no memory. */
bool bwl_timers_reserve(bwl_timers *timers, size_t count);
void bwl_timers_free(bwl_timers *timers);

/* Sets, moves or (BWL_NEVER) clears.  There is room: see reserve. */
void bwl_timers_set(bwl_timers *timers, bwl_timer *timer, bwl_ms at);

/* When the next one is due: BWL_NEVER if there is none. */
bwl_ms bwl_timers_next(const bwl_timers *timers);

/* The one that is due longest at `now`, taken out; NULL if none is. */
bwl_timer *bwl_timers_take_due(bwl_timers *timers, bwl_ms now);

#endif
