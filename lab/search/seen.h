/*
 * seen.h -- the visited worlds: fingerprint, first path, number.
 *
 * A list has 16 bytes per world; a table of 8 bytes per slot, at most three quarters full, finds
 * them by fingerprint. A larger table is built from the list after the old one is freed.
 */
#pragma once

#include "lab/base/memory.h"
#include "lab/world/world.h"

#define BWL_NOBODY UINT32_MAX

typedef struct bwl_seen_world {
    uint64_t       fingerprint;
    uint32_t       parent;     /* NOBODY: the first */
    bwl_transition transition; /* the transition from the parent */
} bwl_seen_world;

typedef struct bwl_seen {
    bwl_memory     *memory;
    bwl_seen_world *worlds;
    size_t          worlds_capacity;
    uint64_t       *places;   /* upper half of the fingerprint, and the number plus 1; 0: free */
    size_t          capacity; /* of places: a power of two */
    uint32_t        count;
    bool            is_largest; /* there is no memory for a larger table */
} bwl_seen;

typedef enum bwl_met {
    BWL_MET_NEW = 1,
    BWL_MET_BEFORE,
    BWL_MET_NO_ROOM, /* new, and no memory for it */
} bwl_met;

void bwl_seen_start(bwl_seen *seen, bwl_memory *memory);

/* Prefetches the memory for a fingerprint that will be added soon. */
void bwl_seen_prepare(const bwl_seen *seen, uint64_t fingerprint);

/* The number of the fingerprint: 0, 1, 2 ... in order of discovery. */
bwl_met bwl_seen_add(bwl_seen *seen, const bwl_seen_world *world, uint32_t *ret_number);

const bwl_seen_world *bwl_seen_at(const bwl_seen *seen, uint32_t number);

void bwl_seen_free(bwl_seen *seen);
