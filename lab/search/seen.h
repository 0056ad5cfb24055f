/*
 * seen.h -- the worlds that were met: of each a fingerprint, how it was first reached, and a number
 * of its own.
 *
 * 16 bytes of each are in a list; a table of numbers, 8 bytes a place and three quarters full at
 * most, finds them by their fingerprint.  The table is made anew from the list when it is too
 * small, so the old one and the new one are never there at once.
 */
#ifndef BWL_LAB_SEARCH_SEEN_H
#define BWL_LAB_SEARCH_SEEN_H

#include "lab/base/memory.h"
#include "lab/world/world.h"

#define BWL_NOBODY UINT32_MAX

typedef struct bwl_seen_world {
    uint64_t       fingerprint;
    uint32_t       parent;     /* NOBODY: the first */
    bwl_transition transition; /* the one that led here from there */
} bwl_seen_world;

typedef struct bwl_seen {
    bwl_memory *memory;
    bwl_blocks  worlds;
    uint64_t   *places;   /* upper half of the fingerprint, and the number plus 1; 0: free */
    size_t      capacity; /* a power of two */
    uint32_t    count;
    bool        is_largest; /* there is no memory for a larger table */
} bwl_seen;

typedef enum bwl_met {
    BWL_MET_NEW = 1,
    BWL_MET_BEFORE,
    BWL_MET_NO_ROOM, /* it is new, and there is no memory for it */
} bwl_met;

void bwl_seen_start(bwl_seen *seen, bwl_memory *memory);

/* It will be added soon: fetches the memory that will be looked at. */
void bwl_seen_prepare(const bwl_seen *seen, uint64_t fingerprint);

/* The number of the fingerprint: 0, 1, 2 ... in the order of first meeting. */
bwl_met bwl_seen_add(bwl_seen *seen, const bwl_seen_world *world, uint32_t *ret_number);

const bwl_seen_world *bwl_seen_at(const bwl_seen *seen, uint32_t number);

void bwl_seen_free(bwl_seen *seen);

#endif
