#include "lab/search/store.h"
#include <string.h>

/* ---- the visited worlds: open addressing with linear probing --------------------------------- */

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

bwl_visit bwl_seen_add(bwl_seen *seen, const bwl_seen_world *world, uint32_t *ret_number)
{
    size_t i;

    assert(world->fingerprint != 0);
    if (seen->capacity > 0) {
        i = find(seen, world->fingerprint);
        if (seen->places[i] != 0) {
            *ret_number = (uint32_t)seen->places[i] - 1;
            return BWL_VISIT_BEFORE;
        }
    }
    if (!has_room(seen))
        return BWL_VISIT_NO_ROOM;
    i                         = find(seen, world->fingerprint);
    *ret_number               = seen->count++;
    seen->places[i]           = place_of(world->fingerprint, *ret_number);
    seen->worlds[*ret_number] = *world;
    return BWL_VISIT_NEW;
}

void bwl_seen_free(bwl_seen *seen)
{
    bwl_memory_give_back(seen->memory, seen->places, seen->capacity * sizeof seen->places[0]);
    bwl_memory_give_back(seen->memory, seen->worlds,
                         seen->worlds_capacity * sizeof seen->worlds[0]);
    *seen = (bwl_seen){ .memory = seen->memory };
}

/* ---- the worlds that are not expanded yet ---------------------------------------------------- */

enum {
    WORDS_MAX  = sizeof(bwl_world) / 8,
    GROUPS_MAX = (WORDS_MAX + 63) / 64 + BWL_PARTS_OF_WORLD_MAX, /* groups of 64 words */
    PACKED_MAX = GROUPS_MAX * (8 + 64 * (1 + 8)),                /* if all bytes differ */
};

_Static_assert(sizeof(bwl_world) % 8 == 0 && offsetof(bwl_world, clients) % 8 == 0 &&
                   sizeof(bwl_lab_client) % 8 == 0 && sizeof(bwl_lab_waiting) % 8 == 0 &&
                   offsetof(bwl_world, servers) % 8 == 0 && offsetof(bwl_server, links) % 8 == 0 &&
                   sizeof(bwl_server) % 8 == 0 && sizeof(bwl_link) % 8 == 0,
               "a world is compared 8 bytes at a time");

typedef struct bwl_frontier_block {
    struct bwl_frontier_block *next;
    size_t                     used;
    uint8_t                    bytes[BWL_FRONTIER_BLOCK - 2 * sizeof(void *)];
} frontier_block;

/* In most worlds all clients have started. */
void bwl_frontier_start(bwl_frontier *f, bwl_memory *memory, const bwl_scenario *s)
{
    *f = (bwl_frontier){ .memory = memory, .layout = bwl_world_layout_of(s) };
    bwl_world_start(&f->typical, s);
    for (unsigned i = 0; i < s->clients; i++)
        bwl_world_perform(&f->typical,
                          (bwl_transition){ .kind = BWL_TRANSITION_START, .client = (uint8_t)i });
}

static uint64_t word_at(const void *world, size_t i)
{
    uint64_t word;

    memcpy(&word, (const uint8_t *)world + 8 * i, sizeof word);
    return word;
}

static unsigned bytes_of(uint64_t word)
{
    const uint64_t low  = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t       tops = (((word & low) + low) | word) & ~low; /* the top bit of each such byte */

    return (unsigned)((tops >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* Writes a mask of the bytes that differ, and those bytes. */
static uint8_t *pack_word(uint64_t word, uint64_t difference, uint8_t *at)
{
    unsigned mask = bytes_of(difference);

    *at++ = (uint8_t)mask;
    for (; mask != 0; mask &= mask - 1)
        *at++ = (uint8_t)(word >> 8 * __builtin_ctz(mask));
    return at;
}

static const uint8_t *unpack_word(const uint8_t *at, uint64_t *word)
{
    for (unsigned mask = *at++; mask != 0; mask &= mask - 1) {
        unsigned shift = 8 * (unsigned)__builtin_ctz(mask);
        *word          = (*word & ~(UINT64_C(255) << shift)) | (uint64_t)*at++ << shift;
    }
    return at;
}

/* Writes the words from `first` to `end`, 64 at a time: a bit for each that differs, and those. */
static uint8_t *pack_part(const bwl_frontier *f, const bwl_world *w, size_t first, size_t end,
                          uint8_t *at)
{
    for (; first < end; first += 64) {
        size_t   last  = first + 64 < end ? first + 64 : end;
        uint64_t bits  = 0;
        uint8_t *group = at;

        at += sizeof bits;
        for (size_t i = first; i < last; i++) {
            uint64_t word       = word_at(w, i);
            uint64_t difference = word ^ word_at(&f->typical, i);
            if (difference == 0)
                continue;
            bits |= UINT64_C(1) << (i - first);
            at = pack_word(word, difference, at);
        }
        memcpy(group, &bits, sizeof bits);
    }
    return at;
}

static size_t pack(const bwl_frontier *f, const bwl_world *w, uint8_t *ret_packed)
{
    uint8_t *at = ret_packed;

    for (unsigned i = 0; i < f->layout.count; i++) {
        const bwl_world_part *part = &f->layout.parts[i];
        at = pack_part(f, w, part->offset / 8, (part->offset + part->size) / 8, at);
    }
    return (size_t)(at - ret_packed);
}

static const uint8_t *unpack_part(const bwl_frontier *f, size_t first, size_t end,
                                  const uint8_t *at, bwl_world *ret_w)
{
    for (; first < end; first += 64) {
        uint64_t bits;

        memcpy(&bits, at, sizeof bits);
        at += sizeof bits;
        for (; bits != 0; bits &= bits - 1) {
            size_t   i    = first + (size_t)__builtin_ctzll(bits);
            uint64_t word = word_at(&f->typical, i);
            at            = unpack_word(at, &word);
            memcpy((uint8_t *)ret_w + 8 * i, &word, sizeof word);
        }
    }
    return at;
}

static size_t unpack(const bwl_frontier *f, const uint8_t *packed, bwl_world *ret_w)
{
    const uint8_t *at = packed;

    bwl_world_copy(ret_w, &f->typical, &f->layout);
    for (unsigned i = 0; i < f->layout.count; i++) {
        const bwl_world_part *part = &f->layout.parts[i];
        at = unpack_part(f, part->offset / 8, (part->offset + part->size) / 8, at, ret_w);
    }
    return (size_t)(at - packed);
}

static bool add_block(bwl_frontier *f)
{
    frontier_block *block = bwl_memory_take(f->memory, sizeof *block);

    if (block == NULL)
        return false;
    if (f->last != NULL)
        f->last->next = block;
    else
        f->first = block;
    f->last = block;
    return true;
}

bool bwl_frontier_put(bwl_frontier *f, const bwl_world *w)
{
    uint8_t packed[PACKED_MAX];
    size_t  size = pack(f, w, packed);

    _Static_assert(PACKED_MAX <= sizeof f->last->bytes, "a block has room for any world");
    if (f->last == NULL || f->last->used + size > sizeof f->last->bytes)
        if (!add_block(f))
            return false;
    memcpy(f->last->bytes + f->last->used, packed, size);
    f->last->used += size;
    f->count++;
    return true;
}

static void drop_first(bwl_frontier *f)
{
    frontier_block *block = f->first;

    f->first = block->next;
    f->taken = 0;
    if (f->first == NULL)
        f->last = NULL;
    bwl_memory_give_back(f->memory, block, sizeof *block);
}

void bwl_frontier_take(bwl_frontier *f, bwl_world *ret_w)
{
    assert(f->count > 0);
    if (f->taken == f->first->used)
        drop_first(f);
    f->taken += unpack(f, f->first->bytes + f->taken, ret_w);
    f->count--;
}

void bwl_frontier_free(bwl_frontier *f)
{
    while (f->first != NULL)
        drop_first(f);
    f->count = 0;
}

/* ---- steps, backwards ------------------------------------------------------------------------ */

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
