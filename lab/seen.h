/*
 * seen.h -- the set of fingerprints that were met, each with a number of its own.
 */
#ifndef BWL_LAB_SEEN_H
#define BWL_LAB_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bwl_seen_slot {
    uint64_t fingerprint; /* 0: free                                                             */
    uint32_t number;
} bwl_seen_slot;

/* Zero it before use. */
typedef struct bwl_seen {
    bwl_seen_slot *slots;
    size_t capacity; /* a power of two                                                           */
    uint32_t count;
} bwl_seen;

/* The number of the fingerprint: 0, 1, 2 ... in the order of first meeting.  True if it is new. */
bool bwl_seen_add(bwl_seen *seen, uint64_t fingerprint, uint32_t *ret_number);

void bwl_seen_free(bwl_seen *seen);

#endif
