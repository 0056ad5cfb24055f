/*
 * local_group.h -- those of one client that want the same name: they have one place in the store's
 * queue between them, and take turns while it is theirs.
 *
 *                 caller  caller  caller
 *                   |       |       |
 *                  hold    hold    hold       each on the protocol `seat`: ENQUEUE, EXTEND, LEAVE
 *                   |       |       |
 *                   +---- cohort ---+         this machine
 *                           |
 *                          hold               the store's: acquired, extended, yielded, released
 *                           |                 as a caller would
 *                         store
 *
 * The store's hold is
 *
 *      NONE --somebody sits--> ACQUIRING --held--> HELD <--> EXTENDING
 *      ACQUIRING --refused, or nobody sits any more--> NONE
 *      HELD --yielded--> ACQUIRING
 *      HELD, EXTENDING --nobody sits--> RELEASING --> NONE
 *      HELD, EXTENDING --lost--> NONE
 *
 * The rules:
 *   - first come, first served, inside;
 *   - the next one's turn begins when the one before him has left, and is told that in between:
 *     there is no moment at which two have been told HELD;
 *   - nobody is told more than the store's hold says: until when, and that it is lost;
 *   - a turn begins with at least half of his lease who has it: it is extended first, unless the
 *     store has given or extended it just now;
 *   - after `handoffs_max` turns, or when `handoffs_ms` have passed, it is yielded to who waits
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
    BWL_HANDOFFS_MAX        = 1024, /* from one fence of the store's to the next */
    BWL_HANDOFFS_DEFAULT    = 64,
    BWL_HANDOFFS_DEFAULT_MS = 100,
};

typedef uint32_t bwl_local_waiter_id; /* from 1; 0: none */

typedef enum bwl_local_waiter_state {
    BWL_LOCAL_WAITER_EMPTY = 0,
    BWL_LOCAL_WAITER_WAITING,
    BWL_LOCAL_WAITER_ACTIVE,
    BWL_LOCAL_WAITER_LEAVING, /* the last one: the store is asked */
} bwl_local_waiter_state;

typedef struct bwl_local_waiter {
    bwl_local_waiter_state state;
    bwl_local_waiter_id    next; /* WAITS: in line */
    bwl_local_waiter_id    previous;
    bwl_local_waiter_id    next_result;
    uint32_t               tag;    /* of the question that is open; 0: none */
    bwl_outcome            result; /* not told yet; PENDING: nothing */
    bwl_ms                 lease_ms;
} bwl_local_waiter;

typedef enum bwl_group_state {
    BWL_GROUP_NONE = 0,
    BWL_GROUP_ACQUIRING,
    BWL_GROUP_HELD,
    BWL_GROUP_EXTENDING,
    BWL_GROUP_RELEASING,
} bwl_group_state;

typedef struct bwl_group {
    bwl_group_state     state;
    unsigned            handoffs_max; /* 1 .. BWL_HANDOFFS_MAX */
    bwl_ms              handoffs_ms;
    bwl_local_waiter_id first; /* who waits */
    bwl_local_waiter_id last;
    bwl_local_waiter_id first_result; /* to whom something is to be told */
    bwl_local_waiter_id last_result;
    bwl_local_waiter_id active;
    bwl_local_waiter_id extending; /* he has asked for it, and the store was not asked yet, or is */
    bwl_local_waiter_id leaver;
    unsigned            handoffs; /* begun since the store gave it */
    bool             is_fresh; /* the store gave it, or extended it, and no turn has begun since */
    bool             extension_failed; /* an extension, since then */
    bwl_ms           given_at;
    bwl_ms           until; /* the store's hold */
    bwl_ms           reported_until;
    bwl_outcome_kind last_error; /* of its renewal; PENDING: none */
    bwl_outcome_kind reported_error;
    bwl_ms           lease_ms; /* that was asked for last */
    uint64_t         fence;
} bwl_group;

typedef enum bwl_group_action_kind {
    BWL_ACTION_COMPLETE = 1, /* the seat `seat`: bwl_group_action_event */
    BWL_ACTION_ACQUIRE, /* a new hold of the store, for lease_ms, for ever; the one before is not
                        * wanted any more */
    BWL_ACTION_EXTEND,  /* it by lease_ms */
    BWL_ACTION_YIELD,   /* it, for ever */
    BWL_ACTION_RELEASE, /* it; an extension under way is not waited for */
    BWL_ACTION_CANCEL,  /* it; nothing is to be told of it any more */
} bwl_group_action_kind;

typedef struct bwl_group_action {
    bwl_group_action_kind kind;
    bwl_local_waiter_id   waiter;
    uint32_t              tag; /* TELL: of his question; 0: he has not asked */
    bwl_outcome           outcome;
    bwl_ms                lease_ms;
} bwl_group_action;

void bwl_group_init(bwl_group *c, unsigned handoffs_max, bwl_ms handoffs_ms);

/* ---- from above: what a seat asks, with the tag of the question ------------------------------ */

/* The seat is empty. */
void bwl_group_enqueue(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                       bwl_ms lease_ms);
void bwl_group_extend(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                      bwl_ms lease_ms);
void bwl_group_leave(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag);

/* ---- from below ------------------------------------------------------------------------------ */

/* The store's hold has told this.  HELD: acquired, extended or yielded and got again. */
void bwl_group_on_store_result(bwl_group *c, bwl_local_waiter *waiters, const bwl_outcome *out,
                               bwl_ms now);

/* What the store's hold says now, unasked: until when it is held, and how its renewal goes. */
void bwl_group_on_store_status(bwl_group *c, bwl_ms until, bwl_outcome_kind last_error);

/* ---- what is to be done ---------------------------------------------------------------------- */

/* False: nothing. */
bool bwl_group_next_action(bwl_group *c, bwl_local_waiter *waiters, bwl_ms now,
                           bwl_group_action *ret_action);

/* Nobody sits, and nothing is asked of the store. */
bool bwl_group_is_over(const bwl_group *c);

/* What a seat is told, as an event for its machine; the moment is to be filled in. */
bwl_event bwl_group_action_event(const bwl_group_action *action);

#endif
