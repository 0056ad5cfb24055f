/*
 * local_groups.h -- a cohort (lock/local_group.h) in the real world: its seats are locks of
 * callers, and its place in the store's queue is a lock of its own, which nobody sees.
 *
 * Who comes first to a name stands in the store's queue alone, as if there were no cohorts: for him
 * all of this costs a look into a table.  Who comes while the name is in use here, and would wait,
 * sits down; the first of them opens the cohort.  It is closed when the last has left.
 *
 * All in one client (of the lanes of a handle: one lane), and under its mutex.
 */
#ifndef BWL_RUNTIME_LOCAL_GROUPS_H
#define BWL_RUNTIME_LOCAL_GROUPS_H

#include "runtime/shard.h"
#include "lock/local_group.h"

/* A seat asks this instead of the store. */
extern const bwl_engine bwl_local_group_engine;

/* locked: a lock for who acquires, not sought yet: a seat if the name is in use here, `waits`, and
 * the protocol has a queue.  USAGE (the name), NOMEM, SYSTEM. */
int bwl_lock_new_or_join(bwl_lock **ret_lock, bwl_shard *shard, const char *name,
                         const bwl_terms *terms, bool waits, bwl_fault *fault);

/* locked: true for the lock of somebody who sits, which the store knows nothing of. */
bool bwl_lock_is_local_waiter(const bwl_lock *lock);

/* ---- from lock.c and client.c, all locked ---------------------------------------------------- */

/* A lock has ended what was asked of it, or has been lost. */
void bwl_local_group_completed(bwl_lock *lock, bwl_outcome_kind kind);

/* How it ended for the caller: who has sat down may not know as much as the store's lock does. */
bwl_outcome_kind bwl_local_group_outcome(bwl_lock *lock, bwl_outcome_kind kind);

/* A step of the lock's machine is carried out: first, and last.  What is to be done inside waits
 * for the end of it. */
struct bwl_local_group *bwl_local_group_enter(bwl_lock *lock);
void                    bwl_local_group_leave(struct bwl_local_group *seats, const bwl_lock *lock);

/* The lock is being freed with its client. */
void bwl_local_group_forget(bwl_lock *lock);

#endif
