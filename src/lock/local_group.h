/*
 * local_group.h -- the threads of one client that want the same lock.  They share one hold in the
 * store, and hand the lock to each other while that lasts.
 *
 *                 caller  caller  caller
 *                   |       |       |
 *                  hold    hold    hold       each with the protocol of local_waiter.c
 *                   |       |       |
 *                   +-- local group +         this machine
 *                           |
 *                      store hold             a lock machine with the protocol of the store
 *                           |
 *                         store
 *
 * The store hold is
 *
 *      NONE --first waiter--> ACQUIRING --held--> HELD <--> EXTENDING
 *      ACQUIRING --refused, or no waiter is left--> NONE
 *      HELD --yielded--> ACQUIRING
 *      HELD, EXTENDING --no waiter is left--> RELEASING --> NONE
 *      HELD --no waiter is left--> HELD, kept for the next one --time or wanted--> RELEASING
 *      HELD, EXTENDING --lost--> NONE
 *      HELD --given up--> NONE            another client has it, and the other waiters wait
 *
 * The rules:
 *   - the waiters of a group get the lock in the order of their arrival;
 *   - a handoff begins after the previous waiter has left and has its result: at no time do two
 *     waiters have the result HELD;
 *   - the end that a waiter gets is never later than the end of the store hold, and a loss is
 *     reported;
 *   - a waiter gets the lock with at least half of its lease left: otherwise the store hold is
 *     extended first, unless the store has granted or extended it since the last handoff;
 *   - after `handoffs_max` handoffs, or `handoffs_ms`, the store hold is yielded to other clients;
 *   - the fence of a handoff is the fence of the store hold plus the number of the handoff: the
 *     store leaves 1024 numbers between two fences;
 *   - a waiter that leaves while others wait has the result RELEASED at once, without a command to
 *     the store.  The last waiter gets the result of the store.
 *
 * With keep_ms, the group keeps the store hold when its last waiter has left, and the next waiter
 * gets the lock without a command to the store:
 *   - until keep_ms after the grant; or until another client wants the lock, of which the store
 *     notifies after WATCH;
 *   - a hold for which the store had a queue is not kept;
 *   - while no other client is known to want the lock, keep_ms bounds the handoffs, and not
 *     handoffs_ms and handoffs_max;
 *   - the last waiter has the result RELEASED at once, or as soon as the store has answered WATCH.
 *
 * The owner of a group keeps the waiters in an array, whose first element is not used.  It passes
 * in what happens, and carries out the actions of bwl_group_next_action until there are none.
 */
#ifndef BWL_LOCK_LOCAL_GROUP_H
#define BWL_LOCK_LOCAL_GROUP_H

#include "core/core.h"

enum {
    BWL_HANDOFFS_MAX        = 1024, /* the numbers between two fences of the store */
    BWL_HANDOFFS_DEFAULT    = 64,
    BWL_HANDOFFS_DEFAULT_MS = 100,
    BWL_STICKY_MAX_MS       = 60000,
};

typedef uint32_t bwl_local_waiter_id; /* from 1; 0: none */

typedef enum bwl_local_waiter_state {
    BWL_LOCAL_WAITER_EMPTY = 0,
    BWL_LOCAL_WAITER_WAITING,
    BWL_LOCAL_WAITER_ACTIVE,
    BWL_LOCAL_WAITER_LEAVING, /* the last waiter: the store hold is being released */
} bwl_local_waiter_state;

typedef struct bwl_local_waiter {
    bwl_local_waiter_state state;
    bwl_local_waiter_id    next; /* WAITING: in the order of arrival */
    bwl_local_waiter_id    previous;
    bwl_local_waiter_id    next_result;
    uint32_t               tag;    /* of the command in flight; 0: none */
    bwl_outcome            result; /* not reported yet; PENDING: none */
    bwl_ms                 lease_ms;
} bwl_local_waiter;

typedef enum bwl_group_state {
    BWL_GROUP_NONE = 0,
    BWL_GROUP_ACQUIRING,
    BWL_GROUP_HELD,
    BWL_GROUP_EXTENDING,
    BWL_GROUP_RELEASING,
} bwl_group_state;

/* Whether the store notifies when another client wants the lock. */
typedef enum bwl_group_watch {
    BWL_GROUP_UNWATCHED = 0,
    BWL_GROUP_WATCH_SENT,
    BWL_GROUP_WATCH_AWAITED, /* the same, and the last waiter leaves: no handoff before the reply */
    BWL_GROUP_WATCHED,
} bwl_group_watch;

typedef struct bwl_group {
    bwl_group_state     state;
    unsigned            handoffs_max; /* 1 .. BWL_HANDOFFS_MAX */
    bwl_ms              handoffs_ms;
    bwl_ms              keep_ms; /* 0: the store hold is released with the last waiter */
    bwl_local_waiter_id first;   /* of the waiters in WAITING */
    bwl_local_waiter_id last;
    bwl_local_waiter_id first_result; /* of the waiters with a result that is not reported */
    bwl_local_waiter_id last_result;
    bwl_local_waiter_id active;
    bwl_local_waiter_id extending; /* its extension is in flight, or not sent yet */
    bwl_local_waiter_id leaver;    /* in LEAVING */
    unsigned            handoffs;  /* since the store granted the lock */
    bool                is_fresh;  /* granted or extended by the store after the last handoff */
    bool                extension_failed; /* since the last handoff */
    bwl_group_watch     watch;
    bool                is_wanted; /* by another client */
    bwl_ms              granted_at;
    bwl_ms              until; /* of the store hold */
    bwl_ms              reported_until;
    bwl_outcome_kind    last_error; /* of the renewal of the store hold; PENDING: none */
    bwl_outcome_kind    reported_error;
    bwl_ms              lease_ms; /* of the last command to the store */
    uint64_t            fence;
} bwl_group;

typedef enum bwl_group_action_kind {
    BWL_ACTION_COMPLETE = 1, /* a result for `waiter`: see bwl_group_action_event */
    BWL_ACTION_ACQUIRE,      /* a new store hold, for lease_ms, without a time limit; replaces the
                         * previous one */
    BWL_ACTION_EXTEND,       /* the store hold, to lease_ms from now */
    BWL_ACTION_YIELD,        /* the store hold, without a time limit */
    BWL_ACTION_RELEASE,      /* the store hold, without waiting for an extension */
    BWL_ACTION_CANCEL,       /* the store hold; no result of it counts any more */
    BWL_ACTION_WATCH, /* the store hold: bwl_group_on_watched follows, if it is held and no other
                              * client waits; and bwl_group_on_wanted, instead or later, if one
                              * waits or that is not known any more */
} bwl_group_action_kind;

typedef struct bwl_group_action {
    bwl_group_action_kind kind;
    bwl_local_waiter_id   waiter;
    uint32_t              tag; /* COMPLETE: of the waiter's command; 0: it has none in flight */
    bwl_outcome           outcome;
    bwl_ms                lease_ms;
} bwl_group_action;

void bwl_group_init(bwl_group *g, unsigned handoffs_max, bwl_ms handoffs_ms, bwl_ms keep_ms);

/* ---- from above: commands of a waiter, with their tags --------------------------------------- */

/* Waiter n must be EMPTY. */
void bwl_group_enqueue(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                       bwl_ms lease_ms);
void bwl_group_extend(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                      bwl_ms lease_ms);
void bwl_group_leave(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag);

/* The active waiter leaves the group, and takes the store hold with it.  No result follows, nor of
 * its extension that may be in flight. */
void bwl_group_give_up(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n);

/* The group, which is new, keeps a hold that is watched, of a caller that releases it now. */
void bwl_group_take_over(bwl_group *g, bwl_ms until, uint64_t fence, bwl_ms lease_ms, bwl_ms now);

/* ---- from below: what happens to the store hold ---------------------------------------------- */

/* The result of the last action on the store hold.  HELD: acquired, extended, or yielded and then
 * acquired again. */
void bwl_group_on_store_result(bwl_group *g, bwl_local_waiter *waiters, const bwl_outcome *out,
                               bwl_ms now);

/* The state of the store hold after any step: its end, and the last error of its renewal. */
void bwl_group_on_store_status(bwl_group *g, bwl_ms until, bwl_outcome_kind last_error);

/* The store hold is watched: see BWL_ACTION_WATCH. */
void bwl_group_on_watched(bwl_group *g);

/* Another client waits for the lock.  Also while the store hold is being acquired. */
void bwl_group_on_wanted(bwl_group *g);

/* ---- actions --------------------------------------------------------------------------------- */

/* Writes the next action.  False: there is none. */
bool bwl_group_next_action(bwl_group *g, bwl_local_waiter *waiters, bwl_ms now,
                           bwl_group_action *ret_action);

/* When bwl_group_next_action has to be called again, if nothing else happens; BWL_NEVER: not. */
bwl_ms bwl_group_wake_at(const bwl_group *g);

/* True if the store hold is held, and no waiter has it or waits for it. */
bool bwl_group_is_idle(const bwl_group *g);

/* True if a waiter with this lease would get the lock at once. */
bool bwl_group_is_ready(const bwl_group *g, bwl_ms lease_ms, bwl_ms now);

/* True if there is no waiter and no action on the store hold in flight. */
bool bwl_group_is_over(const bwl_group *g);

/* A COMPLETE action as an event for the hold of its waiter, without a time.  `details` points into
 * the action. */
bwl_event bwl_group_action_event(const bwl_group_action *action);

#endif
