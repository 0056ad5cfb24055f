/*
 * live.h -- which worlds can still reach a goal: computed backwards for all worlds at once.
 *
 * Steps are stored by the number of their source: 4 bytes per step and per world.  Most steps lead
 * to a higher number, so one pass from the last to the first reaches nearly all worlds, and a few
 * more passes reach the rest.
 */
#pragma once

#include "lab/base/memory.h"
#include <stdbool.h>

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
