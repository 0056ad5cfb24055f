/*
 * synced.h -- a lock that counts only when replicas have it: what the lab must see of it,
 * and the same with one mistake each.
 */
#ifndef BWL_LAB_MUTANT_SYNCED_H
#define BWL_LAB_MUTANT_SYNCED_H

#include "lock/machine.h"

enum { BWL_SYNCED_INNER_SIZE = 96, BWL_SYNCED_TAG = 1 << 28 };

/* The private state of the protocols of synced.c, as far as the lab must tell one from another.
 * That of the protocol inside stands first. */
typedef struct bwl_synced_view {
    _Alignas(8) unsigned char inner[BWL_SYNCED_INNER_SIZE];
    uint32_t asked;
    uint32_t count;
    bwl_ms   until;
    uint64_t fence;
    bwl_ms   asked_at;
    bwl_ms   ask_until;
    bwl_verb verb;
} bwl_synced_view;

/* Is it one of these, or a mutant? */
static inline bool bwl_is_synced(const bwl_hold *h)
{
    return h->terms.replicas > 0;
}

bwl_synced_view bwl_synced_view_of(const bwl_hold *h);

/* The tag of the question to the replicas that is out; 0: none, or it is none of these. */
uint32_t bwl_synced_asked(const bwl_hold *h);

/* False if they keep these elsewhere by now. */
bool bwl_synced_view_is_right(void);

extern const bwl_protocol bwl_synced_deaf;  /* takes any number of replicas for enough            */
extern const bwl_protocol bwl_synced_alone; /* asks them for the lock, and not for its extensions */
extern const bwl_protocol bwl_synced_early; /* asks them before a question of its own          */

#endif
