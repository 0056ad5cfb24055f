/*
 * backoff.h -- the pause between two attempts: it doubles up to a limit, and half of it is random,
 * so that clients do not retry at the same times ("equal jitter": M. Brooker, Exponential Backoff
 * And Jitter, AWS Architecture Blog, 2015).
 */
#ifndef BWL_LOCK_BACKOFF_H
#define BWL_LOCK_BACKOFF_H

#include "core/core.h"

enum {
    BWL_BACKOFF_MIN_MS        = 10,
    BWL_BACKOFF_DOUBLINGS_MAX = 7, /* to 1280 ms; every caller has a lower limit */
};

/* The pause after `pauses` pauses in a row: BWL_BACKOFF_MIN_MS / 2 .. longest_ms.  Uses the first
 * two bytes of `fresh`; no token is made from the same bytes, because each event has its own. */
static inline bwl_ms bwl_backoff_ms(unsigned pauses, bwl_ms longest_ms, const bwl_random *fresh)
{
    unsigned doublings = pauses < BWL_BACKOFF_DOUBLINGS_MAX ? pauses : BWL_BACKOFF_DOUBLINGS_MAX;
    bwl_ms   whole_ms  = bwl_ms_min((bwl_ms)BWL_BACKOFF_MIN_MS << doublings, longest_ms);
    unsigned random    = (unsigned)fresh->bytes[0] << 8 | fresh->bytes[1];

    return whole_ms / 2 + (bwl_ms)random % (whole_ms / 2 + 1);
}

#endif
