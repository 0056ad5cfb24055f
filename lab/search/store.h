/*
 * store.h -- what a search stores, in counted memory: the visited worlds, those that are not
 * expanded yet, and the steps between them.
 */
#pragma once

#include "lab/base/memory.h"
#include "lab/world/world.h"

/* ---- the visited worlds: fingerprint, first path, number ------------------------------------- */

/* A list has 16 bytes per world; a table of 8 bytes per slot, at most three quarters full, finds
 * them by fingerprint.  A larger table is built from the list after the old one is freed. */

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

typedef enum bwl_visit {
    BWL_VISIT_NEW = 1,
    BWL_VISIT_BEFORE,
    BWL_VISIT_NO_ROOM, /* new, and no memory for it */
} bwl_visit;

void bwl_seen_start(bwl_seen *seen, bwl_memory *memory);

/* Prefetches the memory for a fingerprint that will be added soon. */
void bwl_seen_prepare(const bwl_seen *seen, uint64_t fingerprint);

/* The number of the fingerprint: 0, 1, 2 ... in order of discovery. */
bwl_visit bwl_seen_add(bwl_seen *seen, const bwl_seen_world *world, uint32_t *ret_number);

const bwl_seen_world *bwl_seen_at(const bwl_seen *seen, uint32_t number);

void bwl_seen_free(bwl_seen *seen);

/* ---- the worlds that are not expanded yet: a queue ------------------------------------------- */

/* It stores the difference of each world from a typical one: a bit per 8 bytes that differ, and the
 * bytes that do.  The compression is lossless. */

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

/* ---- which worlds can still reach a goal: computed backwards for all worlds at once ---------- */

/* Steps are stored by the number of their source: 4 bytes per step and per world.  Most steps lead
 * to a higher number, so one pass from the last to the first reaches nearly all worlds, and a few
 * more passes reach the rest. */

/* The goals that every world should be able to reach, as flags. */
#define BWL_GOOD_LOCK  UINT32_C(0x80000000) /* a client gets the lock */
#define BWL_GOOD_QUIET UINT32_C(0x40000000) /* no call is pending */

enum { BWL_LIVE_WORLDS_MAX = (1 << 30) - 2 };

typedef struct bwl_live {
    bwl_memory *memory;
    uint32_t   *steps;
    size_t      size;   /* of `steps`, in bytes */
    uint64_t    count;  /* steps and ends of worlds */
    uint32_t    worlds; /* that were expanded */
} bwl_live;

void bwl_live_start(bwl_live *live, bwl_memory *memory);

/* A step from the current world.  `good`: flags.  False: no memory. */
bool bwl_live_step(bwl_live *live, uint32_t to, uint32_t good);

/* Ends the current world; the next number follows.  `good`: goals that hold without a step. */
bool bwl_live_end(bwl_live *live, uint32_t good);

typedef enum bwl_fate {
    BWL_FATE_GOOD = 1,
    BWL_FATE_DEAD, /* a world cannot reach the goal */
    BWL_FATE_NO_MEMORY,
} bwl_fate;

/* DEAD: the number of the first such world. */
bwl_fate bwl_live_find_dead(bwl_live *live, uint32_t good, uint32_t *ret_number);

void bwl_live_free(bwl_live *live);
