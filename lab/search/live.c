#include "lab/search/live.h"
#include <assert.h>

enum { STEPS_MORE = 1 << 16 };

static const uint32_t all_good   = BWL_GOOD_LOCK | BWL_GOOD_QUIET;
static const uint32_t end_of_one = ~(BWL_GOOD_LOCK | BWL_GOOD_QUIET);

void bwl_live_start(bwl_live *live, bwl_memory *memory)
{
    *live = (bwl_live){ .memory = memory };
}

static bool add(bwl_live *live, uint32_t step)
{
    size_t larger = live->size + STEPS_MORE * sizeof live->steps[0];

    if (live->count * sizeof live->steps[0] == live->size) {
        uint32_t *steps = bwl_memory_grow(live->memory, live->steps, live->size, larger);
        if (steps == NULL)
            return false;
        live->steps = steps;
        live->size  = larger;
    }
    live->steps[live->count++] = step;
    return true;
}

bool bwl_live_step(bwl_live *live, uint32_t to, uint32_t good)
{
    assert(to <= BWL_LIVE_WORLDS_MAX);
    return add(live, to | good);
}

bool bwl_live_end(bwl_live *live, uint32_t good)
{
    if (!add(live, end_of_one | good))
        return false;
    live->worlds++;
    return true;
}

static bool is_set(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

static void set(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

/* One pass from the last step to the first.  True if it found another live world. */
static bool go_back(const bwl_live *live, uint32_t good, uint64_t *alive)
{
    uint32_t world     = live->worlds;
    bool     has_found = false;

    for (uint64_t i = live->count; i > 0; i--) {
        uint32_t step   = live->steps[i - 1];
        uint32_t to     = step & ~all_good;
        bool     is_end = to == end_of_one;

        if (is_end)
            world--;
        if (is_set(alive, world))
            continue;
        if ((step & good) != 0 || (!is_end && to < live->worlds && is_set(alive, to))) {
            set(alive, world);
            has_found = true;
        }
    }
    assert(world == 0);
    return has_found;
}

bwl_fate bwl_live_find_dead(bwl_live *live, uint32_t good, uint32_t *ret_number)
{
    size_t    size  = ((size_t)live->worlds + 63) / 64 * 8;
    uint64_t *alive = bwl_memory_take(live->memory, size);
    uint32_t  world = 0;

    if (alive == NULL)
        return BWL_FATE_NO_MEMORY;
    while (go_back(live, good, alive)) {
    }
    while (world < live->worlds && is_set(alive, world))
        world++;
    bwl_memory_give_back(live->memory, alive, size);
    *ret_number = world;
    return world < live->worlds ? BWL_FATE_DEAD : BWL_FATE_GOOD;
}

void bwl_live_free(bwl_live *live)
{
    bwl_memory_give_back(live->memory, live->steps, live->size);
    *live = (bwl_live){ .memory = live->memory };
}
