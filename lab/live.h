/*
 * live.h -- can somebody still get the lock from here?  Asked of every world at once, backwards.
 */
#ifndef BWL_LAB_LIVE_H
#define BWL_LAB_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bwl_live_edge {
    uint32_t from;
    uint32_t to;
} bwl_live_edge;

/* Zero it before use. */
typedef struct bwl_live {
    bwl_live_edge *edges;
    size_t         edges_count;
    size_t         edges_capacity;
    uint32_t *good; /* from here, one step gets the lock                                         */
    size_t    good_count;
    size_t    good_capacity;
} bwl_live;

void bwl_live_step(bwl_live *live, uint32_t from, uint32_t to, bool got_lock);

/* True if there is a world, of `count`, from which nobody can get the lock; the first of them. */
bool bwl_live_find_dead(bwl_live *live, uint32_t count, uint32_t *ret_number);

void bwl_live_free(bwl_live *live);

#endif
