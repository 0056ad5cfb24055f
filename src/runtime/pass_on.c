/*
 * pass_on.c -- a lock that ends without a release, for another client to adopt, or for another lock
 * of this client: lock/pass_on.h.
 */
#include "runtime/lock.h"
#include "lock/pass_on.h"

/* Its hold is over. */
static void end(bwl_lock *lock)
{
    assert(lock->operation == NULL);
    bwl_lock_detach(lock);
    lock->time_is_up_at = BWL_NEVER;
    bwl_loop_set_timer(&lock->shard->loop, &lock->timer, BWL_NEVER);
    bwl_lock_drop_handle(lock);
}

void bwl_lock_give_up(bwl_lock *lock)
{
    bwl_hold_give_up(&lock->base.hold);
    end(lock);
}

void bwl_lock_take_hold(bwl_lock *lock, bwl_lock *from)
{
    assert(lock->operation == NULL && lock->shard == from->shard);
    lock->engine          = from->engine;
    lock->reads_wall      = from->reads_wall;
    lock->base.latest_tag = from->base.latest_tag;
    lock->base.why        = from->base.why;
    lock->history.was_queued |= from->history.was_queued;
    lock->engine->passing->hand_over(&from->base, &lock->base);
    bwl_hold_move(&lock->base.hold, &from->base.hold);
    lock->time_is_up_at = BWL_NEVER;
    bwl_loop_set_timer(&lock->shard->loop, &lock->timer, lock->shard->host.latest);
    end(from);
}
