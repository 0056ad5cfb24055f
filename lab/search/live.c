#include "lab/search/live.h"
#include <assert.h>

enum { STEPS_BITS = 16, STEPS = 1 << STEPS_BITS };

static const uint32_t all_good   = BWL_GOOD_LOCK | BWL_GOOD_QUIET;
static const uint32_t end_of_one = ~(BWL_GOOD_LOCK | BWL_GOOD_QUIET);

void bwl_live_start(bwl_live *live, bwl_memory *memory)
{
    *live = (bwl_live){
        .blocks = { .memory = memory, .block_size = STEPS * sizeof(uint32_t) },
    };
}

static bool add(bwl_live *live, uint32_t step)
{
    uint32_t *block;

    if (live->count == (uint64_t)live->blocks.count << STEPS_BITS &&
        bwl_blocks_add(&live->blocks) == NULL)
        return false;
    block                            = live->blocks.blocks[live->count >> STEPS_BITS];
    block[live->count & (STEPS - 1)] = step;
    live->count++;
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
        const uint32_t *block  = live->blocks.blocks[(i - 1) >> STEPS_BITS];
        uint32_t        step   = block[(i - 1) & (STEPS - 1)];
        uint32_t        to     = step & ~all_good;
        bool            is_end = to == end_of_one;

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
    uint64_t *alive = bwl_memory_take(live->blocks.memory, size);
    uint32_t  world = 0;

    if (alive == NULL)
        return BWL_FATE_NO_MEMORY;
    while (go_back(live, good, alive)) {
    }
    while (world < live->worlds && is_set(alive, world))
        world++;
    bwl_memory_give_back(live->blocks.memory, alive, size);
    *ret_number = world;
    return world < live->worlds ? BWL_FATE_DEAD : BWL_FATE_GOOD;
}

void bwl_live_free(bwl_live *live)
{
    bwl_blocks_free(&live->blocks);
    live->count  = 0;
    live->worlds = 0;
}
