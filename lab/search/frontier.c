#include "lab/search/frontier.h"
#include <string.h>

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
