/*
 * private_state.h -- the private state of protocols and mutants, as the normal form (world.h) and
 * the invariants read it.
 */
#pragma once

#include "lab/base/token_number.h"
#include "lab/world/scenario.h"
#include "protocol/state.h"

/* The state of a mutant, after the 32 bytes of the inner protocol. */
enum { BWL_MUTANT_INNER_SIZE = 32 };

typedef struct bwl_mutant_state {
    _Alignas(8) unsigned char inner[BWL_MUTANT_INNER_SIZE];
    bwl_ms   sent_at; /* of the last command */
    uint32_t tag;     /* of the last command */
    bwl_verb verb;
    bool     again;
    unsigned blows;   /* hammers: how often in a row */
    bool     is_lost; /* asks_on: the outcome is unknown */
} bwl_mutant_state;

typedef struct bwl_queue_mutant_state {
    bwl_queue_state inner;
    bwl_ms          until; /* that was reported */
} bwl_queue_mutant_state;

/* The states of a hold, in its memory.  A wrapper around a protocol stores that protocol's state
 * first, then its own. */

static inline const bwl_token_state *bwl_token_state_of(const bwl_hold *h)
{
    assert(h->protocol->state_size >= sizeof(bwl_token_state));
    return (const bwl_token_state *)(const void *)h->memory;
}

static inline const bwl_queue_state *bwl_queue_state_of(const bwl_hold *h)
{
    assert(h->protocol->state_size >= sizeof(bwl_queue_state));
    return (const bwl_queue_state *)(const void *)h->memory;
}

/* The token that this hold must release first; 0: none. */
static inline uint16_t bwl_queue_owes(const bwl_hold *h)
{
    return bwl_queue_state_of(h)->previous_may_own ? bwl_token_read(h->other_token) : 0;
}

/* The token of an upgrade that may have been carried out, or may be later; 0: none. */
static inline uint16_t bwl_upgrades_to(const bwl_hold *h)
{
    return h->change.other_may_own ? bwl_token_read(h->other_token) : 0;
}

/* True for the protocols of src/protocol/replicated.c and their mutants. */
static inline bool bwl_is_synced(const bwl_hold *h)
{
    return h->protocol != NULL && h->request.options->replicas > 0;
}

static inline const bwl_synced_state *bwl_synced_state_of(const bwl_hold *h)
{
    return (const bwl_synced_state *)(const void *)h->memory;
}

/* The tag of the request to the replicas in flight; 0: none. */
static inline uint32_t bwl_synced_tag(const bwl_hold *h)
{
    return bwl_is_synced(h) ? bwl_synced_state_of(h)->tag : 0;
}
