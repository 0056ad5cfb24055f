/*
 * lock.h -- runs one lock machine (lock/machine.h): passes events to it, and performs its effects.
 *
 * A lock lives from its first acquire until nothing of it is left in the store.  Its caller follows
 * it through an operation: an acquire, extend or release in flight.
 *
 * lock -> event_queue, name_pins, loop.  Local groups and background releases are above: the lock
 * calls them through bwl_lock_group and `completed`.
 *
 * Every function needs the shard's mutex.
 */
#pragma once

#include "runtime/shard.h"

typedef struct bwl_operation bwl_operation;

/* The calls from a lock to its local group; see local_groups.c. */
typedef struct bwl_lock_group bwl_lock_group;

typedef struct bwl_lock_group_calls {
    /* The result for the caller: the group may know more than the lock. */
    bwl_outcome_kind (*result)(bwl_lock *lock, bwl_outcome_kind kind);
    /* The lock has completed its operation, or was lost. */
    void (*completed)(bwl_lock *lock, bwl_outcome_kind kind);
    /* Around a step of the machine.  step_ends gets the result of step_begins; it is not called if
     * that is NULL. */
    bwl_lock_group *(*step_begins)(bwl_lock *lock);
    void (*step_ends)(bwl_lock_group *group, const bwl_lock *lock);
    /* The lock is freed with its shard. */
    void (*closing)(bwl_lock *lock);
} bwl_lock_group_calls;

struct bwl_lock_group {
    const bwl_lock_group_calls *calls;
};

struct bwl_lock {
    bwl_engine_lock   base; /* first: an engine knows only this */
    bwl_timer         timer;
    bwl_shard        *shard;
    const bwl_engine *engine; /* the shard's, or bwl_local_group_engine */
    bwl_lock_group   *group;  /* its group, as a waiter or as the lock in the store; NULL: none */
    bwl_lock         *next_named; /* see names.h */
    atomic_uint      *name_pin;   /* see shards.h; NULL: none */
    bool              is_named;
    bwl_lock         *previous; /* in the shard */
    bwl_lock         *next;
    bwl_operation    *operation;   /* in flight; NULL */
    unsigned          sends_count; /* how many times the machine has sent commands */
    bwl_ms   time_is_up_at; /* see bwl_hold_result_deadline, bwl_hold_send_deadline; or BWL_NEVER */
    unsigned pins;          /* steps and requests in flight that point to it */
    bool     has_handle;    /* the caller may still use it */
    /* Called when the lock completes without an operation; NULL. */
    void (*completed)(bwl_lock *lock, bwl_outcome_kind kind);
    bwl_outcome_kind ended_as; /* the result of an unreported release: background_release.h */
    bwl_lock        *next_unreported;
    bool             saw_foreign; /* the last reply showed a foreign value */
    bool             reads_wall;  /* its protocol or token needs the wall clock */
    bwl_lock_face    face;        /* the caller's view: event_queue.h */
    void            *user;        /* the caller's data */
};

struct bwl_operation {
    bwl_lock        *lock;
    bwl_verb         verb;       /* 0: a holder query */
    bool             yields;     /* ACQUIRE of a lock that was held */
    bool             is_query;   /* the machine is not involved */
    bool             watched;    /* its end goes into the event queue */
    bwl_completion   completion; /* BWL_PENDING: in flight */
    bwl_queued_event event;      /* of its end */
    void            *user;       /* the caller's data */
};

static inline bwl_lock *bwl_lock_of_engine(bwl_engine_lock *lock)
{
    return (bwl_lock *)(void *)lock;
}

/* Makes a lock, not yet started.  USAGE (the name), NOMEM, SYSTEM. */
int bwl_lock_new(bwl_lock **ret_lock, bwl_shard *shard, const char *name, const bwl_terms *terms,
                 bwl_fault *fault);

/* The same with another engine than the shard's. */
int bwl_lock_new_in(bwl_lock **ret_lock, bwl_shard *shard, const bwl_engine *engine,
                    const char *name, const bwl_terms *terms, bwl_fault *fault);

/* The caller no longer uses the lock.  It is freed once nothing of it is left in the store. */
void bwl_lock_drop_handle(bwl_lock *lock);

/* A lock is not freed while it is pinned. */
void bwl_lock_pin(bwl_lock *lock);
void bwl_lock_unpin(bwl_lock *lock);

/* The shard closes: frees the lock in any state. */
void bwl_lock_free(bwl_lock *lock);

/* The shard closes: releases whatever the lock may own in the store, without waiting for the
 * reply. */
void bwl_lock_let_go(bwl_lock *lock);

/* Each starts an operation, which may have completed on return.  wait_ms below 0: the wait ended
 * that long ago; the lock is tried once, within the rest of the time for one reply. */
void bwl_lock_acquire(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_extend(bwl_lock *lock, bwl_operation *operation, bwl_ms lease_ms);
void bwl_lock_release(bwl_lock *lock, bwl_operation *operation);
void bwl_lock_yield(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_cancel(bwl_operation *operation);

/* Waits for the end, and cancels the operation if the wait fails.  As bwl_loop_wait. */
int bwl_lock_await(bwl_operation *operation, bwl_ms until, bwl_fault *fault);

/* A holder query: completes as BWL_RELEASED when engine->who has the result, else as
 * BWL_CANCELLED. */
void bwl_lock_query_holder(bwl_lock *lock, bwl_operation *operation);

/* Force releases the hold that the query showed.  The engine has break_seen. */
void bwl_lock_force_release(bwl_lock *lock, bwl_operation *operation);

/* Sends one command of a transaction; `transaction` gets the result.  The engine has step. */
void bwl_lock_step(bwl_lock *lock, bwl_operation *operation, bwl_transaction *transaction);

void bwl_lock_event(bwl_lock *lock, bwl_event ev);
void bwl_lock_revoke(bwl_lock *lock);
void bwl_lock_query_done(bwl_lock *lock);

/* False: the caller has its result already, and an error text would come too late. */
bool                                       bwl_lock_takes_error(const bwl_lock *lock);
__attribute__((format(printf, 2, 3))) void bwl_lock_set_error(bwl_lock *lock, const char *format,
                                                              ...);
