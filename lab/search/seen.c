/*
 * seen.c -- open addressing with linear probing.  See seen.h.
 */
#include "lab/search/seen.h"

enum {
    FIRST_CAPACITY = 8192,
    WORLDS_MORE    = 1 << 16,
};

void bwl_seen_start(bwl_seen *seen, bwl_memory *memory)
{
    *seen = (bwl_seen){ .memory = memory };
}

const bwl_seen_world *bwl_seen_at(const bwl_seen *seen, uint32_t number)
{
    assert(number < seen->count);
    return &seen->worlds[number];
}

static uint64_t place_of(uint64_t fingerprint, uint32_t number)
{
    return (fingerprint >> 32 << 32) | (number + 1u);
}

/* The slot of the fingerprint, or a free one. */
static size_t find(const bwl_seen *seen, uint64_t fingerprint)
{
    size_t mask = seen->capacity - 1;
    size_t i    = (size_t)fingerprint & mask;

    while (seen->places[i] != 0) {
        uint64_t place = seen->places[i];
        if (place >> 32 == fingerprint >> 32 &&
            seen->worlds[(uint32_t)place - 1].fingerprint == fingerprint)
            break;
        i = (i + 1) & mask;
    }
    return i;
}

static void fill_in(bwl_seen *seen)
{
    size_t mask = seen->capacity - 1;

    for (uint32_t number = 0; number < seen->count; number++) {
        uint64_t fingerprint = seen->worlds[number].fingerprint;
        size_t   i           = (size_t)fingerprint & mask;
        while (seen->places[i] != 0)
            i = (i + 1) & mask;
        seen->places[i] = place_of(fingerprint, number);
    }
}

static bool has_place(const bwl_seen *seen)
{
    size_t sixteenths = seen->is_largest ? 15 : 12;

    return seen->count < seen->capacity / 16 * sixteenths;
}

static bool take_table(bwl_seen *seen, size_t capacity)
{
    seen->places   = bwl_memory_take(seen->memory, capacity * sizeof seen->places[0]);
    seen->capacity = seen->places != NULL ? capacity : 0;
    return seen->places != NULL;
}

/* Makes room for one more.  Without memory for a larger table, the old one is filled up to a
 * limit. */
static bool make_room(bwl_seen *seen)
{
    size_t old = seen->capacity;

    if (has_place(seen) || seen->is_largest)
        return has_place(seen);
    bwl_memory_give_back(seen->memory, seen->places, old * sizeof seen->places[0]);
    if (!take_table(seen, old == 0 ? FIRST_CAPACITY : old * 2)) {
        seen->is_largest = true;
        if (old == 0 || !take_table(seen, old))
            return false;
    }
    fill_in(seen);
    return has_place(seen);
}

static bool has_room(bwl_seen *seen)
{
    size_t          size   = seen->worlds_capacity * sizeof seen->worlds[0];
    size_t          larger = size + WORLDS_MORE * sizeof seen->worlds[0];
    bwl_seen_world *worlds;

    if (!make_room(seen))
        return false;
    if (seen->count < seen->worlds_capacity)
        return true;
    worlds = bwl_memory_grow(seen->memory, seen->worlds, size, larger);
    if (worlds == NULL)
        return false;
    seen->worlds = worlds;
    seen->worlds_capacity += WORLDS_MORE;
    return true;
}

void bwl_seen_prepare(const bwl_seen *seen, uint64_t fingerprint)
{
    if (seen->capacity > 0)
        __builtin_prefetch(&seen->places[(size_t)fingerprint & (seen->capacity - 1)]);
}

bwl_met bwl_seen_add(bwl_seen *seen, const bwl_seen_world *world, uint32_t *ret_number)
{
    size_t i;

    assert(world->fingerprint != 0);
    if (seen->capacity > 0) {
        i = find(seen, world->fingerprint);
        if (seen->places[i] != 0) {
            *ret_number = (uint32_t)seen->places[i] - 1;
            return BWL_MET_BEFORE;
        }
    }
    if (!has_room(seen))
        return BWL_MET_NO_ROOM;
    i                         = find(seen, world->fingerprint);
    *ret_number               = seen->count++;
    seen->places[i]           = place_of(world->fingerprint, *ret_number);
    seen->worlds[*ret_number] = *world;
    return BWL_MET_NEW;
}

void bwl_seen_free(bwl_seen *seen)
{
    bwl_memory_give_back(seen->memory, seen->places, seen->capacity * sizeof seen->places[0]);
    bwl_memory_give_back(seen->memory, seen->worlds,
                         seen->worlds_capacity * sizeof seen->worlds[0]);
    *seen = (bwl_seen){ .memory = seen->memory };
}
