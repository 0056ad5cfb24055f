/*
 * lock.h -- runs one lock machine (lock/machine.h): passes events to it, and performs its effects.
 *
 * A lock lives from its first acquire until nothing of it is left in the store.  Its caller follows
 * it through an operation: an acquire, extend or release in flight.
 *
 * lock -> event_queue, name_pins, loop.  Local groups are above: the lock calls them through
 * bwl_lock_group_calls.
 *
 * Every function needs the shard's mutex.
 */
#pragma once

#include "engine/election.h"
#include "runtime/shard.h"

enum { BWL_REFERENCES_MAX = 65535 };

typedef struct bwl_operation bwl_operation;

typedef struct bwl_local_group bwl_local_group;

/* The calls from a lock to its local group; see local_groups.c. */
typedef struct bwl_lock_group_calls {
    /* The result for the caller: the group may know more than the lock. */
    bwl_outcome_kind (*result)(bwl_lock *lock, bwl_outcome_kind kind);
    /* The lock has completed its operation, or was lost. */
    void (*completed)(bwl_lock *lock, bwl_outcome_kind kind);
    /* After a step of the machine. */
    void (*stepped)(const bwl_lock *lock);
    /* The lock is freed with its shard. */
    void (*closing)(bwl_lock *lock);
    /* Whether another client wants the lock: see bwl_engine.watch. */
    void (*watched)(bwl_lock *lock, bool is_wanted);
} bwl_lock_group_calls;

/* Why its release goes to the store although it could be kept. */
typedef struct bwl_lock_history {
    bool was_queued; /* the store had a queue for its latest attempt   */
    bool has_led;    /* its holder has announced something: query.c    */
} bwl_lock_history;

struct bwl_lock {
    bwl_engine_lock   base; /* first: an engine knows only this */
    bwl_timer         timer;
    bwl_shard        *shard;
    const bwl_engine *engine; /* the shard's, or that of a local waiter */
    bwl_local_group  *group;  /* its group, as a waiter or as the lock in the store; NULL: none */
    bwl_lock         *next_named; /* see names.h */
    atomic_uint      *name_pin;   /* see client.h; NULL: none */
    bool              is_named;
    bwl_lock        **where; /* in the list of the shard: what points here */
    bwl_lock         *next;
    bwl_operation    *operation;   /* in flight; NULL */
    unsigned          sends_count; /* how many times the machine has sent commands */
    unsigned          steps_count;
    bwl_ms   time_is_up_at; /* see bwl_hold_result_deadline, bwl_hold_send_deadline; or BWL_NEVER */
    unsigned pins;          /* steps and requests in flight that point to it */
    unsigned handles; /* what points to it above: its maker, references, releases to be finished */
    bwl_outcome_kind ended_as; /* the result of an unreported release in the background */
    bwl_lock        *next_unreported;
    bool             saw_foreign; /* the last reply showed a foreign value */
    bwl_lock_history history;
    bool             was_reached; /* the store has answered an attempt of this acquire or yield */
    bwl_lock_stats   stats;
    bool             reads_wall; /* its protocol or token needs the wall clock */
    bwl_lock_face    face;       /* the caller's view: event_queue.h */
    void            *user;       /* the caller's data */
};

struct bwl_operation {
    bwl_lock        *lock;
    bwl_verb         verb;                         /* 0: a holder query */
    bool             yields;                       /* ACQUIRE of a lock that was held */
    bool             keeps;                        /* RELEASE that waits for bwl_engine.watch */
    bool             is_query;                     /* the machine is not involved */
    bool             is_of_all;                    /* a query for all holders */
    bool             observes;                     /* a query for who leads */
    bool             announces;                    /* EXTEND that changes an announcement */
    bool             watched;                      /* its end goes into the event queue */
    bwl_completion   completion;                   /* BWL_PENDING: in flight */
    bwl_queued_event event;                        /* of its end */
    void (*then)(struct bwl_operation *operation); /* its end, in a step of its lock; NULL: none */
    void *user;                                    /* the caller's data */
};

static inline bwl_lock *bwl_lock_of_engine(bwl_engine_lock *lock)
{
    return (bwl_lock *)(void *)lock;
}

/* Makes a lock of the shard's engine, or of another one, not yet started.  USAGE (the name), NOMEM,
 * SYSTEM. */
int bwl_lock_new(bwl_lock **ret_lock, bwl_shard *shard, const bwl_engine *engine, const char *name,
                 const bwl_terms *terms, bwl_fault *fault);

/* One handle less.  Without one, the lock is freed once nothing of it is left in the store. */
void bwl_lock_drop_handle(bwl_lock *lock);

/* Of an attached lock: one more reference of the caller, with a handle.  False: it is not attached,
 * or has BWL_REFERENCES_MAX. */
bool bwl_lock_add_reference(bwl_lock *lock);

/* One reference less; its handle remains.  False: it is the last one, which the release ends. */
bool     bwl_lock_drop_reference(bwl_lock *lock);
uint32_t bwl_lock_other_references(const bwl_lock *lock);

/* A lock is not freed while it is pinned. */
void bwl_lock_pin(bwl_engine_lock *lock);
void bwl_lock_unpin(bwl_engine_lock *lock);

/* The shard closes: frees the lock in any state. */
void bwl_lock_free(bwl_lock *lock);

/* The shard closes: releases whatever the lock may own in the store, without waiting for the
 * reply. */
void bwl_lock_let_go(bwl_lock *lock);

/* Each starts an operation, which may have completed on return.  wait_ms below 0: the wait ended
 * that long ago; the lock is tried once, within the rest of the time for one reply. */
void bwl_lock_acquire(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_extend(bwl_lock *lock, bwl_operation *operation, bwl_ms lease_ms);
void bwl_lock_change(bwl_lock *lock, bwl_operation *operation, bwl_change kind);

/* Of a held lock without a max_hold: one begins now. */
void bwl_lock_limit(bwl_lock *lock, bwl_ms max_hold_ms);

void bwl_lock_release(bwl_lock *lock, bwl_operation *operation);
void bwl_lock_yield(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_cancel(bwl_operation *operation);

/* Begins a release that sends nothing yet: the lock is watched first.  Then it completes as
 * RELEASED, and the lock stays held for others of this client: one handle more, which is theirs.
 * Or it goes on as bwl_lock_release. */
void bwl_lock_begin_to_keep(bwl_lock *lock, bwl_operation *operation);
void bwl_lock_end_kept(bwl_lock *lock);
void bwl_lock_release_after_all(bwl_lock *lock);

/* Whether it is being released like that. */
static inline bool bwl_lock_is_being_kept(const bwl_lock *lock)
{
    return lock->operation != NULL && lock->operation->keeps;
}

/* For query.c: the operation is that of the lock now, which is pinned. */
void bwl_lock_begin(bwl_lock *lock, bwl_operation *operation, bwl_verb verb);

/* An acquire or yield in flight has made an attempt, and none has reached the store. */
static inline bool bwl_lock_is_unreachable(const bwl_lock *lock)
{
    return lock->operation != NULL && lock->operation->verb == BWL_ACQUIRE && !lock->was_reached &&
           lock->base.hold.last_error == BWL_UNREACHABLE;
}

/* As bwl_lock_acquire, of a hold that another client has given up to this one, by its token. */
void bwl_lock_adopt(bwl_lock *lock, bwl_operation *operation, const char *token, bwl_ms wait_ms);

/* Only while held and without an operation: ends the hold without a release, and drops the
 * handle. */
void bwl_lock_give_up(bwl_lock *lock);

/* Both are held, `from` in the store, and have no operation; the engine of `from`, which passes
 * locks on, has prepared `lock`.  `lock` has that hold from now on; `from` ends as with
 * bwl_lock_give_up. */
void bwl_lock_take_hold(bwl_lock *lock, bwl_lock *from);

/* Waits for the end, and cancels the operation if the wait fails.  As bwl_loop_wait. */
int bwl_lock_await(bwl_operation *operation, bwl_ms until, bwl_fault *fault);

/* A holder query: completes as BWL_RELEASED when engine->view.who has the result, or of all holders
 * engine->view.who_nth, else as BWL_CANCELLED. */
void bwl_lock_query_holder(bwl_lock *lock, bwl_operation *operation, bool is_of_all);

/* The same for engine->view.ask_breaker, which is not NULL. */
void bwl_lock_query_breaker(bwl_lock *lock, bwl_operation *operation, uint64_t id);

/* The next step of the lock's listing (engine/listing.h), which is not at its end: completes as
 * above. */
void bwl_lock_list(bwl_lock *lock, bwl_operation *operation);

/* Force releases the hold with this id, which the query showed.  The engine has
 * forced.start. */
void bwl_lock_force_release(bwl_lock *lock, bwl_operation *operation, uint64_t id);

/* Announces a text of a held lock, NULL: withdraws it.  Completes as BWL_RELEASED when
 * engine->view.election->announced has the result, or as BWL_LOST.  The engine has an election. */
void bwl_lock_announce(bwl_lock *lock, bwl_operation *operation, const char *text);

/* Observes who leads, until that differs from *seen, or `until` has come: completes as
 * BWL_RELEASED when engine->view.election->observed has the result, else as BWL_CANCELLED. */
void bwl_lock_observe(bwl_lock *lock, bwl_operation *operation, const bwl_leader *seen,
                      bwl_ms until);

/* Sends one command of a transaction; `transaction` gets the result.  The engine has step. */
void bwl_lock_step(bwl_lock *lock, bwl_operation *operation, bwl_transaction *transaction);

/* ---- releases that no caller waits for --------------------------------------------------------
 *
 * The lock lives until its release has completed, as every lock does.  A release that succeeded is
 * forgotten.  The lock of one that failed is kept in a list until it is reported, so that nothing
 * is allocated at that moment; beyond BWL_UNREPORTED_MAX they are counted only.
 *
 * The thread that runs the loop next reads their replies.  The renewal thread leaves that to the
 * next call for a short time: otherwise a thread that acquires the next lock at once would have to
 * take the loop over from it.
 */

enum {
    BWL_BACKGROUND_MAX = 1000, /* in flight at a time: the next release blocks */
    BWL_UNREPORTED_MAX = 64,
};

/* Starts the release of a lock that has no operation in flight; the caller drops its handle.  True:
 * it has completed already, with the result in the operation, and the handle still exists; false:
 * it continues in the background. */
bool bwl_lock_release_in_background(bwl_lock *lock, bwl_operation *operation);

/* For lock.c: one has begun; it has ended. */
void bwl_background_began(bwl_shard *shard);
void bwl_background_ended(bwl_lock *lock, bwl_outcome_kind kind);

/* Takes the oldest that failed from the list: `ended_as` is the result.  Drop it with
 * bwl_lock_drop_handle.  NULL: there is none. */
bwl_lock *bwl_background_take(bwl_shard *shard);

/* Returns how many more failed, and writes how many of those had lost the lock; resets both
 * counters. */
size_t bwl_background_take_dropped(bwl_shard *shard, size_t *ret_lost);

/* ---- what engines call: see engine/host.h ---------------------------------------------------- */

void bwl_lock_event(bwl_engine_lock *lock, bwl_event ev);
void bwl_lock_revoke(bwl_engine_lock *lock);
void bwl_lock_watched(bwl_engine_lock *lock);
void bwl_lock_wanted(bwl_engine_lock *lock);
void bwl_lock_query_done(bwl_engine_lock *lock);
void bwl_lock_set_fault(bwl_engine_lock *lock, const bwl_fault *why);
bool bwl_lock_is_awaited(const bwl_engine_lock *lock);
