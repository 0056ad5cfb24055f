/*
 * frontier.h -- the queue of worlds that are not expanded yet.
 *
 * It stores the difference of each world from a typical one: a bit per 8 bytes that differ, and the
 * bytes that do.  The compression is lossless.
 */
#pragma once

#include "lab/base/memory.h"
#include "lab/world/world.h"

enum { BWL_FRONTIER_BLOCK = 1 << 18 };

typedef struct bwl_frontier {
    bwl_memory                *memory;
    struct bwl_frontier_block *first; /* the oldest */
    struct bwl_frontier_block *last;  /* the newest */
    size_t                     taken; /* bytes of `first` */
    uint64_t                   count;
    bwl_world_layout           layout; /* of a world of this scenario */
    bwl_world                  typical;
} bwl_frontier;

void bwl_frontier_start(bwl_frontier *f, bwl_memory *memory, const bwl_scenario *s);

/* False: no memory. */
bool bwl_frontier_put(bwl_frontier *f, const bwl_world *w);

void bwl_frontier_take(bwl_frontier *f, bwl_world *ret_w);

void bwl_frontier_free(bwl_frontier *f);
