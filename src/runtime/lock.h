/*
 * lock.h -- one lock machine (lock/machine.h) with what it needs of the real world: events go in,
 * its effects are carried out.
 *
 * A lock lives from the moment it is sought until nothing of it is left in the store.  Its caller
 * follows it through an operation: an acquire, extend or release in flight.
 *
 * lock -> event_queue, name_pins, loop.  Local groups and background releases are above: they hang
 * on a lock through bwl_lock_group and `completed`.
 *
 * Every function needs the shard's mutex.
 */
#pragma once

#include "runtime/shard.h"

typedef struct bwl_operation bwl_operation;

/* What a local group does at the steps of a lock; see local_groups.c. */
typedef struct bwl_lock_group bwl_lock_group;

typedef struct bwl_lock_group_calls {
    /* The result for the caller: the group may know more than the lock does. */
    bwl_outcome_kind (*result)(bwl_lock *lock, bwl_outcome_kind kind);
    /* The lock has completed what was asked, or was lost. */
    void (*completed)(bwl_lock *lock, bwl_outcome_kind kind);
    /* Around a step of the machine.  step_ends is called for what step_begins returns; NULL: not
     * at all. */
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
    const bwl_engine *engine; /* of the shard, or bwl_local_group_engine */
    bwl_lock_group   *group;  /* it is a waiter of, or what stands for in the store; NULL: none */
    bwl_lock         *next_named; /* see names.h */
    atomic_uint      *name_pin;   /* see name_pins.h; NULL: none */
    bool              is_named;
    bwl_lock         *previous; /* in the shard */
    bwl_lock         *next;
    bwl_operation    *operation;   /* in flight; NULL */
    unsigned          sends_count; /* how often the machine has sent commands */
    bwl_ms   time_is_up_at; /* see bwl_hold_result_deadline, bwl_hold_send_deadline; or BWL_NEVER */
    unsigned pins;          /* steps and requests in flight that point here */
    bool     has_handle;    /* the caller can still refer to it */
    /* Called instead of completing an operation, when there is none; NULL. */
    void (*completed)(bwl_lock *lock, bwl_outcome_kind kind);
    bwl_outcome_kind ended_as; /* while it is among the unreported; see background_release.h */
    bwl_lock        *next_unreported;
    bool             saw_foreign; /* the last reply: the key has a foreign value */
    bool             reads_wall;  /* its protocol or its token needs the time of day */
    bwl_lock_face    face;        /* what the caller sees of it: event_queue.h */
    void            *user;        /* the caller's */
};

struct bwl_operation {
    bwl_lock        *lock;
    bwl_verb         verb;       /* 0: a holder query */
    bool             yields;     /* ACQUIRE of a lock that was held */
    bool             is_query;   /* a holder query: the machine takes no part */
    bool             watched;    /* its end is put into the event queue */
    bwl_completion   completion; /* BWL_PENDING: in flight */
    bwl_queued_event event;      /* of its end */
    void            *user;       /* the caller's */
};

static inline bwl_lock *bwl_lock_of_engine(bwl_engine_lock *lock)
{
    return (bwl_lock *)(void *)lock;
}

/* Makes a lock that is not sought yet.  USAGE (the name), NOMEM, SYSTEM. */
int bwl_lock_new(bwl_lock **ret_lock, bwl_shard *shard, const char *name, const bwl_terms *terms,
                 bwl_fault *fault);

/* The same with another engine than that of the shard. */
int bwl_lock_new_in(bwl_lock **ret_lock, bwl_shard *shard, const bwl_engine *engine,
                    const char *name, const bwl_terms *terms, bwl_fault *fault);

/* The caller has no handle any more.  The lock is freed once nothing is left of it. */
void bwl_lock_drop_handle(bwl_lock *lock);

/* A lock is not freed while it is pinned. */
void bwl_lock_pin(bwl_lock *lock);
void bwl_lock_unpin(bwl_lock *lock);

/* The shard closes: frees the lock as it is. */
void bwl_lock_free(bwl_lock *lock);

/* The shard closes: releases in the store whatever the lock may own there.  The reply is not waited
 * for. */
void bwl_lock_let_go(bwl_lock *lock);

/* Each starts an operation, which may have completed on return.  wait_ms below 0: the wait ended
 * that long ago; the lock is tried once, within what is left of the time for one reply. */
void bwl_lock_acquire(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_extend(bwl_lock *lock, bwl_operation *operation, bwl_ms lease_ms);
void bwl_lock_release(bwl_lock *lock, bwl_operation *operation);
void bwl_lock_yield(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_cancel(bwl_operation *operation);

/* A holder query: completes as BWL_RELEASED when engine->who has the result, else as
 * BWL_CANCELLED. */
void bwl_lock_query_holder(bwl_lock *lock, bwl_operation *operation);

/* Ends the hold that the query has shown.  The engine has break_seen. */
void bwl_lock_force_release(bwl_lock *lock, bwl_operation *operation);

/* Sends one command of a transaction; the section has the result.  The engine has step. */
void bwl_lock_step(bwl_lock *lock, bwl_operation *operation, bwl_transaction *transaction);

void bwl_lock_event(bwl_lock *lock, bwl_event ev);
void bwl_lock_revoke(bwl_lock *lock);
void bwl_lock_query_done(bwl_lock *lock);

/* False: the caller has its result already, and an error text would come too late. */
bool                                       bwl_lock_takes_error(const bwl_lock *lock);
__attribute__((format(printf, 2, 3))) void bwl_lock_set_error(bwl_lock *lock, const char *format,
                                                              ...);
