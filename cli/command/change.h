/*
 * change.h -- what happened to a lock between two looks at it.  Pure: no clock, no store.
 *
 * A hold that begins and ends between two looks is not seen.  How a hold has ended, no look shows:
 * it follows from the lease that was left in the look before.
 *
 *      lease not over yet          released (or broken: the store may know)
 *      over, and not renewed       lost
 *      over, but nobody looked     unknown
 *      without a lease             released
 */
#pragma once

#include <bowline/bowline.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct sight {
    bowline_holder holder;
    int64_t        asked_at; /* before and after the look, on a clock that counts suspend */
    int64_t        seen_at;
    int64_t        longest_ms; /* the most that any look at this hold has seen of its lease */
} sight;

typedef enum hold_end {
    HOLD_GOES_ON = 1, /* or there was none */
    HOLD_RELEASED,
    HOLD_LOST,
    HOLD_ENDED, /* one of the two */
} hold_end;

/* True if two looks have seen the same hold of a lock.  Both are held. */
bool change_is_same_hold(const bowline_holder *a, const bowline_holder *b);

/* How the hold of `before` has ended.  Sets now->longest_ms. */
hold_end change_between(const sight *before, sight *now);

/* When to look again, after a pause of at most `every_ms`: earlier near the end of a lease, so that
 * its end is not taken for a release. */
int64_t change_pause_ms(const sight *now, int64_t every_ms);
