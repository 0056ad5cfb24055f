/*
 * frontier.c -- see frontier.h.
 */
#include "lab/frontier.h"
#include "lab/client.h"
#include <string.h>

enum {
    WORDS      = sizeof(bwl_world) / 8,
    BITS_BYTES = (WORDS + 7) / 8,
    PACKED_MAX = BITS_BYTES + WORDS * 9, /* when everything is different                         */
};

_Static_assert(sizeof(bwl_world) % 8 == 0, "a world is compared 8 bytes at a time");

typedef struct bwl_frontier_block {
    struct bwl_frontier_block *next;
    size_t                     used;
    uint8_t                    bytes[BWL_FRONTIER_BLOCK - 2 * sizeof(void *)];
} frontier_block;

/* All clients have begun: most worlds are like that. */
void bwl_frontier_start(bwl_frontier *f, bwl_memory *memory, const bwl_scenario *s)
{
    *f = (bwl_frontier){ .memory = memory };
    bwl_world_start(&f->typical, s);
    for (unsigned i = 0; i < s->clients; i++)
        bwl_sim_client_start(&f->typical, i, 0);
}

static size_t pack(const bwl_world *w, const bwl_world *typical, uint8_t *ret_packed)
{
    const uint8_t *ours   = (const uint8_t *)w;
    const uint8_t *theirs = (const uint8_t *)typical;
    uint8_t       *at     = ret_packed + BITS_BYTES;

    memset(ret_packed, 0, BITS_BYTES);
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t a;
        uint64_t b;
        uint8_t *mask;

        memcpy(&a, ours + 8 * i, 8);
        memcpy(&b, theirs + 8 * i, 8);
        if (a == b)
            continue;
        ret_packed[i / 8] |= (uint8_t)(1u << i % 8);
        mask  = at++;
        *mask = 0;
        for (unsigned byte = 0; byte < 8; byte++)
            if ((uint8_t)((a ^ b) >> 8 * byte) != 0) {
                *mask |= (uint8_t)(1u << byte);
                *at++ = ours[8 * i + byte];
            }
    }
    return (size_t)(at - ret_packed);
}

static size_t unpack(const uint8_t *packed, const bwl_world *typical, bwl_world *ret_w)
{
    const uint8_t *at   = packed + BITS_BYTES;
    uint8_t       *ours = (uint8_t *)ret_w;

    *ret_w = *typical;
    for (size_t i = 0; i < WORDS; i++) {
        unsigned mask;

        if ((packed[i / 8] >> i % 8 & 1) == 0)
            continue;
        mask = *at++;
        for (unsigned byte = 0; byte < 8; byte++)
            if ((mask >> byte & 1) != 0)
                ours[8 * i + byte] = *at++;
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
    size_t  size = pack(w, &f->typical, packed);

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
    f->taken += unpack(f->first->bytes + f->taken, &f->typical, ret_w);
    f->count--;
}

void bwl_frontier_free(bwl_frontier *f)
{
    while (f->first != NULL)
        drop_first(f);
    f->count = 0;
}
