/*
 * seen.c -- open addressing, at most half full.  See seen.h.
 */
#include "lab/seen.h"
#include "lab/grow.h"
#include <assert.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 };

static bwl_seen_slot *slot_for(const bwl_seen *seen, uint64_t fingerprint)
{
    size_t mask = seen->capacity - 1;
    size_t i    = (size_t)fingerprint & mask;

    while (seen->slots[i].fingerprint != 0 && seen->slots[i].fingerprint != fingerprint)
        i = (i + 1) & mask;
    return &seen->slots[i];
}

static void make_larger(bwl_seen *seen)
{
    bwl_seen larger = { .count = seen->count };

    larger.capacity = seen->capacity == 0 ? FIRST_CAPACITY : seen->capacity * 2;
    larger.slots    = bwl_room_for(larger.capacity, sizeof larger.slots[0]);
    for (size_t i = 0; i < seen->capacity; i++)
        if (seen->slots[i].fingerprint != 0)
            *slot_for(&larger, seen->slots[i].fingerprint) = seen->slots[i];
    free(seen->slots);
    *seen = larger;
}

bool bwl_seen_add(bwl_seen *seen, uint64_t fingerprint, uint32_t *ret_number)
{
    bwl_seen_slot *slot;
    bool           is_new;

    assert(fingerprint != 0);
    if ((size_t)seen->count * 2 >= seen->capacity)
        make_larger(seen);
    slot   = slot_for(seen, fingerprint);
    is_new = slot->fingerprint == 0;
    if (is_new)
        *slot = (bwl_seen_slot){ .fingerprint = fingerprint, .number = seen->count++ };
    *ret_number = slot->number;
    return is_new;
}

void bwl_seen_free(bwl_seen *seen)
{
    free(seen->slots);
    *seen = (bwl_seen){ 0 };
}
