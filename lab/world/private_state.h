/*
 * private_state.h -- the layout of the private state of some protocols, and checks that the
 * protocols still use it.
 *
 * The normal form (canon.h) and the invariants read it.  A wrapper around a protocol stores the
 * state of the protocol first, then its own.
 */
#pragma once

#include "lock/machine.h"
#include "protocol/store/redis.h"

/* The state of a mutant, after the 32 bytes of the inner protocol. */
enum { BWL_MUTANT_INNER_SIZE = 32 };

typedef struct bwl_mutant_state {
    _Alignas(8) unsigned char inner[BWL_MUTANT_INNER_SIZE];
    bwl_ms   asked_at; /* the last command */
    uint32_t asked;    /* its tag */
    bwl_verb verb;
    bool     again;
    unsigned blows;   /* hammers: how often in a row */
    bool     is_lost; /* asks_on: in doubt */
} bwl_mutant_state;

typedef struct bwl_queue_view {
    uint32_t          phase;
    bool              may_wait;
    bool              was_held;
    uint32_t          asked;
    uint32_t          last_tag;
    uint32_t          unconfirmed;
    bwl_ms            sent_at;
    bwl_ms            lease_ms;
    bwl_ms            provisional_ttl_ms;
    uint64_t          fence;
    uint64_t          ticket;
    bwl_ms            seen_at;
    int64_t           seen_us;
    bool              owes;
    uint32_t          next;
    bwl_redis_command next_command;
} bwl_queue_view;

/* The first phase, and the phase that reads `seen_at` and `seen_us`. */
enum { BWL_QUEUE_VIEW_IDLE = 1, BWL_QUEUE_VIEW_QUEUED = 4 };

/* The token that this hold must release first; 0: none. */
uint16_t bwl_queue_view_owes(const bwl_hold *h);

/* False if the layout of `queue` has changed. */
bool bwl_queue_view_is_right(void);

typedef struct bwl_queue_mutant_state {
    bwl_queue_view inner;
    bwl_ms         until; /* that was told */
} bwl_queue_mutant_state;

enum { BWL_SYNCED_INNER_SIZE = 96, BWL_SYNCED_TAG = 1 << 28 };

/* The private state of the protocols of src/protocol/replicated.c, after that of the inner
 * protocol. */
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

/* True for these protocols and their mutants. */
static inline bool bwl_is_synced(const bwl_hold *h)
{
    return h->terms.replicas > 0;
}

bwl_synced_view bwl_synced_view_of(const bwl_hold *h);

/* The tag of the request to the replicas in flight; 0: none. */
uint32_t bwl_synced_asked(const bwl_hold *h);

/* False if the layout has changed. */
bool bwl_synced_view_is_right(void);
