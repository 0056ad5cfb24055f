/*
 * live.h -- can it still come to that from here?  Asked of every world at once, backwards.
 *
 * The steps are kept in the order of the worlds that they begin in: 4 bytes for each, and 4 for
 * each world.  Most steps lead to a world with a higher number, so going through them from the last
 * to the first reaches nearly everything at once, and a few times more the rest.
 */
#ifndef BWL_LAB_SEARCH_LIVE_H
#define BWL_LAB_SEARCH_LIVE_H

#include "lab/base/memory.h"
#include <stdbool.h>

/* What a step may do that every world should be able to come to. */
#define BWL_GOOD_LOCK  UINT32_C(0x80000000) /* somebody gets the lock */
#define BWL_GOOD_QUIET UINT32_C(0x40000000) /* no call is under way any more */

enum { BWL_LIVE_WORLDS_MAX = (1 << 30) - 2 };

typedef struct bwl_live {
    bwl_blocks blocks;
    uint64_t   count;  /* steps and ends of worlds */
    uint32_t   worlds; /* that were gone on from */
} bwl_live;

void bwl_live_start(bwl_live *live, bwl_memory *memory);

/* A step from the world that is gone on from.  `good`: flags.  False if there is no memory. */
bool bwl_live_step(bwl_live *live, uint32_t to, uint32_t good);

/* That was the last step from this world; the next is that with the next number.  `good`: what is
 * so without any step. */
bool bwl_live_end(bwl_live *live, uint32_t good);

typedef enum bwl_fate {
    BWL_FATE_GOOD = 1,
    BWL_FATE_DEAD, /* there is a world from which it cannot come to that */
    BWL_FATE_NO_MEMORY,
} bwl_fate;

/* DEAD: the number of the first such world. */
bwl_fate bwl_live_find_dead(bwl_live *live, uint32_t good, uint32_t *ret_number);

void bwl_live_free(bwl_live *live);

#endif
