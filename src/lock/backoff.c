/*
 * backoff.c -- see backoff.h.
 */
#include "lock/backoff.h"

enum { DOUBLINGS_MAX = 7 }; /* to 1280 ms; every caller has a lower limit */

bwl_ms bwl_backoff_ms(unsigned pauses, bwl_ms longest_ms, const bwl_random *fresh)
{
    unsigned doublings = pauses < DOUBLINGS_MAX ? pauses : DOUBLINGS_MAX;
    bwl_ms   whole_ms  = bwl_ms_min((bwl_ms)BWL_BACKOFF_MIN_MS << doublings, longest_ms);
    unsigned random    = (unsigned)fresh->bytes[0] << 8 | fresh->bytes[1];

    return whole_ms / 2 + (bwl_ms)random % (whole_ms / 2 + 1);
}
