/*
 * pass_on.c -- a lock that ends without a release, for another client to adopt: lock/pass_on.c.
 */
#include "runtime/lock.h"

void bwl_lock_give_up(bwl_lock *lock)
{
    assert(lock->operation == NULL);
    bwl_lock_detach(lock);
    bwl_hold_give_up(&lock->base.hold);
    lock->time_is_up_at = BWL_NEVER;
    bwl_loop_set_timer(&lock->shard->loop, &lock->timer, BWL_NEVER);
    bwl_lock_drop_handle(lock);
}
