/*
 * local_groups.h -- runs the local groups (lock/local_group.h): the threads of one shard that want
 * the same name wait here, and one lock waits in the store for all of them.
 *
 * The first acquire of a name waits in the store's queue alone, and costs one table lookup.  An
 * acquire that would wait, while the name is in use in this shard, becomes a local waiter; the
 * first of these opens the group.  The group is freed when the last waiter has left.
 *
 * If released locks stay with the client (settings.keep_ms), a lock that is released becomes that
 * of a group without waiters.  A group outlives its last waiter for that time, and is found by
 * name.
 *
 * local_groups -> lock.  A lock reaches its group through bwl_lock_group_calls.
 *
 * Every function needs the shard's mutex.
 */
#pragma once

#include "lock/local_group.h"
#include "runtime/lock.h"

/* Makes the lock of an acquire, not yet started: a local waiter if the name is in use here, the
 * acquire `waits`, and the protocol has a queue.  USAGE (the name), NOMEM, SYSTEM. */
int bwl_lock_new_or_join(bwl_lock **ret_lock, bwl_shard *shard, const char *name,
                         const bwl_terms *terms, bool waits, bwl_fault *fault);

/* The caller releases a held lock without an operation in flight.  True: the release has begun, and
 * completes when the store has said whether the client may keep the lock.  False: release it. */
bool bwl_lock_keep(bwl_lock *lock, bwl_operation *operation);

/* The lock that holds the name in the store for this one: itself, or that of its group.  NULL: none
 * at the moment. */
bwl_lock *bwl_lock_in_store(bwl_lock *lock);

/* As bwl_lock_give_up, with the lock in the store: other waiters of the group begin to wait in the
 * store again. */
void bwl_lock_pass_on(bwl_lock *lock);

/* A held lock leaves its group, with the hold of the lock in the store: other waiters of the group
 * begin to wait in the store again.  Without a group, or if it is not held, it does nothing.
 * NOMEM, SYSTEM: nothing has changed. */
int bwl_lock_leave_group(bwl_lock *lock, bwl_fault *fault);
