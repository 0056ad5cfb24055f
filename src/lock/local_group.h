/*
 * local_group.h -- those of one client that want the same name: they have one place in the store's
 * queue between them, and take turns while it is theirs.
 *
 *                 caller  caller  caller
 *                   |       |       |
 *                  hold    hold    hold       each on the protocol `seat`: SIT, EXTEND, LEAVE
 *                   |       |       |
 *                   +---- cohort ---+         this machine
 *                           |
 *                          hold               the store's: acquired, extended, yielded, released
 *                           |                 as a caller would
 *                         store
 *
 * The store's hold is
 *
 *      NONE --somebody sits--> SEEKING --held--> OURS <--> EXTENDING
 *      SEEKING --refused, or nobody sits any more--> NONE
 *      OURS --yielded--> SEEKING
 *      OURS, EXTENDING --nobody sits--> RELEASING --> NONE
 *      OURS, EXTENDING --lost--> NONE
 *
 * The rules:
 *   - first come, first served, inside;
 *   - the next one's turn begins when the one before him has left, and is told that in between:
 *     there is no moment at which two have been told HELD;
 *   - nobody is told more than the store's hold says: until when, and that it is lost;
 *   - a turn begins with at least half of his lease who has it: it is extended first, unless the
 *     store has given or extended it just now;
 *   - after `turns_max` turns, or when `turns_ms` have passed, it is yielded to who waits
 *     elsewhere;
 *   - the fence of a turn is the store's and which turn it is: the store leaves 1024 for that;
 *   - who leaves while others sit here is told RELEASED at once, on this machine's word alone: the
 *     store was not asked.  Who leaves last hears what the store says.
 *
 * Whoever runs this keeps the seats in an array, the first of which is nobody's; hands in what
 * happens; and carries out what `next` says until it says that there is nothing.
 */
#ifndef BWL_LOCK_LOCAL_GROUP_H
#define BWL_LOCK_LOCAL_GROUP_H

#include "core/core.h"

enum {
    BWL_TURNS_MAX        = 1024, /* from one fence of the store's to the next                   */
    BWL_TURNS_DEFAULT    = 64,
    BWL_TURNS_DEFAULT_MS = 100,
};

typedef uint32_t bwl_seat_number; /* from 1; 0: none */

typedef enum bwl_seat_state {
    BWL_SEAT_EMPTY = 0,
    BWL_SEAT_WAITS,
    BWL_SEAT_HAS_TURN,
    BWL_SEAT_LEAVES, /* the last one: the store is asked */
} bwl_seat_state;

typedef struct bwl_seat {
    bwl_seat_state  state;
    bwl_seat_number next; /* WAITS: in line */
    bwl_seat_number previous;
    bwl_seat_number next_told;
    uint32_t        tag;  /* of the question that is open; 0: none */
    bwl_outcome     tell; /* not told yet; PENDING: nothing */
    bwl_ms          lease_ms;
} bwl_seat;

typedef enum bwl_cohort_state {
    BWL_COHORT_NONE = 0,
    BWL_COHORT_SEEKING,
    BWL_COHORT_OURS,
    BWL_COHORT_EXTENDING,
    BWL_COHORT_RELEASING,
} bwl_cohort_state;

typedef struct bwl_cohort {
    bwl_cohort_state state;
    unsigned         turns_max; /* 1 .. BWL_TURNS_MAX */
    bwl_ms           turns_ms;
    bwl_seat_number  first; /* who waits */
    bwl_seat_number  last;
    bwl_seat_number  first_told; /* to whom something is to be told */
    bwl_seat_number  last_told;
    bwl_seat_number  turn_of;
    bwl_seat_number  extends; /* he has asked for it, and the store was not asked yet, or is */
    bwl_seat_number  leaver;
    unsigned         turns;    /* begun since the store gave it */
    bool             is_fresh; /* the store gave it, or extended it, and no turn has begun since */
    bool             was_in_vain; /* an extension, since then */
    bwl_ms           given_at;
    bwl_ms           until; /* the store's hold */
    bwl_ms           told_until;
    bwl_outcome_kind trouble; /* of its renewal; PENDING: none */
    bwl_outcome_kind told_trouble;
    bwl_ms           lease_ms; /* that was asked for last */
    uint64_t         fence;
} bwl_cohort;

typedef enum bwl_deed_kind {
    BWL_DEED_TELL = 1, /* the seat `seat`: bwl_deed_event */
    BWL_DEED_ACQUIRE,  /* a new hold of the store, for lease_ms, for ever; the one before is not
                        * wanted any more */
    BWL_DEED_EXTEND,   /* it by lease_ms */
    BWL_DEED_YIELD,    /* it, for ever */
    BWL_DEED_RELEASE,  /* it; an extension under way is not waited for */
    BWL_DEED_CANCEL,   /* it; nothing is to be told of it any more */
} bwl_deed_kind;

typedef struct bwl_deed {
    bwl_deed_kind   kind;
    bwl_seat_number seat;
    uint32_t        tag; /* TELL: of his question; 0: he has not asked */
    bwl_outcome     outcome;
    bwl_ms          lease_ms;
} bwl_deed;

void bwl_cohort_init(bwl_cohort *c, unsigned turns_max, bwl_ms turns_ms);

/* ---- from above: what a seat asks, with the tag of the question ------------------------------ */

/* The seat is empty. */
void bwl_cohort_sit(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, uint32_t tag,
                    bwl_ms lease_ms);
void bwl_cohort_extend(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, uint32_t tag,
                       bwl_ms lease_ms);
void bwl_cohort_leave(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, uint32_t tag);

/* ---- from below ------------------------------------------------------------------------------ */

/* The store's hold has told this.  HELD: acquired, extended or yielded and got again. */
void bwl_cohort_told(bwl_cohort *c, bwl_seat *seats, const bwl_outcome *out, bwl_ms now);

/* What the store's hold says now, unasked: until when it is held, and how its renewal goes. */
void bwl_cohort_seen(bwl_cohort *c, bwl_ms until, bwl_outcome_kind trouble);

/* ---- what is to be done ---------------------------------------------------------------------- */

/* False: nothing. */
bool bwl_cohort_next(bwl_cohort *c, bwl_seat *seats, bwl_ms now, bwl_deed *ret_deed);

/* Nobody sits, and nothing is asked of the store. */
bool bwl_cohort_is_over(const bwl_cohort *c);

/* What a seat is told, as an event for its machine; the moment is to be filled in. */
bwl_event bwl_deed_event(const bwl_deed *deed);

#endif
