/*
 * private_state.h -- the private state of some protocols, as far as the world must tell one state
 * from another: their layout, and tests that it is what the protocols use.
 *
 * The world reads it for its normal form (canon.h) and for its invariants.  A wrapper around a
 * protocol keeps the state of the protocol first, and then what it adds.
 */
#ifndef BWL_LAB_WORLD_PRIVATE_STATE_H
#define BWL_LAB_WORLD_PRIVATE_STATE_H

#include "lock/machine.h"

/* ---- `token`, wrapped ------------------------------------------------------------------------ */

/* What a mutant remembers, behind the 32 bytes that are left to the machine inside. */
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

/* ---- `queue` --------------------------------------------------------------------------------- */

/* The private state of `queue`, as far as the lab must tell one from another. */
typedef struct bwl_queue_view {
    uint32_t phase;
    bool     may_wait;
    bool     was_held;
    uint32_t asked;
    uint32_t last_tag;
    uint32_t unconfirmed;
    bwl_ms   sent_at;
    bwl_ms   lease_ms;
    bwl_ms   claim_ms;
    uint64_t fence;
    uint64_t ticket;
    bwl_ms   seen_at;
    int64_t  seen_us;
    bool     owes;
    uint32_t next;
    uint32_t next_word;
} bwl_queue_view;

/* Of its phases, the first; and that in which what was seen is looked at. */
enum { BWL_QUEUE_VIEW_IDLE = 1, BWL_QUEUE_VIEW_QUEUED = 4 };

/* The token of this hold that is to be released before all else; 0: none. */
uint16_t bwl_queue_view_owes(const bwl_hold *h);

/* False if `queue` keeps these elsewhere by now. */
bool bwl_queue_view_is_right(void);

/* What a mutant of it remembers. */
typedef struct bwl_queue_mutant_state {
    bwl_queue_view inner;
    bwl_ms         until; /* that was told */
} bwl_queue_mutant_state;

/* ---- a lock that counts only when replicas have it ------------------------------------------- */

enum { BWL_SYNCED_INNER_SIZE = 96, BWL_SYNCED_TAG = 1 << 28 };

/* The private state of the protocols of src/protocol/replicated.c, as far as the lab must tell one
 * from another.  That of the protocol inside stands first. */
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

#endif
