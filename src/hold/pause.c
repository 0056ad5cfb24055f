/*
 * pause.c -- see pause.h.
 */
#include "hold/pause.h"

enum { DOUBLINGS_MAX = 6 }; /* more would be above the bound in any case                        */

bwl_ms bwl_pause_ms(unsigned pauses, const bwl_random *fresh)
{
    unsigned doublings = pauses < DOUBLINGS_MAX ? pauses : DOUBLINGS_MAX;
    bwl_ms   whole_ms  = bwl_sooner((bwl_ms)BWL_PAUSE_MIN_MS << doublings, BWL_PAUSE_MAX_MS);
    unsigned chance    = (unsigned)fresh->bytes[0] << 8 | fresh->bytes[1];

    return whole_ms / 2 + (bwl_ms)chance % (whole_ms / 2 + 1);
}
