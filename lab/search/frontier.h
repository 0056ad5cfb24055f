/*
 * frontier.h -- the worlds that were met and not yet gone on from, first in, first out.
 *
 * Of each only what is different from a typical world is kept: a bit for each 8 bytes that differ,
 * and for each of those the bytes that do.  It is all there: what comes out is what went in.
 */
#ifndef BWL_LAB_SEARCH_FRONTIER_H
#define BWL_LAB_SEARCH_FRONTIER_H

#include "lab/base/memory.h"
#include "lab/world/world.h"

enum { BWL_FRONTIER_BLOCK = 1 << 18 };

typedef struct bwl_frontier {
    bwl_memory                *memory;
    struct bwl_frontier_block *first; /* where they are taken from */
    struct bwl_frontier_block *last;  /* where they are put */
    size_t                     taken; /* bytes of `first` */
    uint64_t                   count;
    bwl_world_layout           layout; /* of a world of this scenario */
    bwl_world                  typical;
} bwl_frontier;

void bwl_frontier_start(bwl_frontier *f, bwl_memory *memory, const bwl_scenario *s);

/* False if there is no memory for it. */
bool bwl_frontier_put(bwl_frontier *f, const bwl_world *w);

void bwl_frontier_take(bwl_frontier *f, bwl_world *ret_w);

void bwl_frontier_free(bwl_frontier *f);

#endif
