/*
 * query.c -- operations of a lock that its machine knows nothing of: who holds it, which locks are
 * held, a force release, a command of a transaction, what its holder announces.
 */
#include "runtime/lock.h"
#include "engine/listing.h"

/* A step of a list does not catch up: that may be the late end of a step before it. */
static void begin_step(bwl_lock *lock, bwl_operation *operation)
{
    bwl_lock_begin(lock, operation, 0);
    operation->is_query = true;
    (void)bwl_shard_now(lock->shard);
}

static void begin_query(bwl_lock *lock, bwl_operation *operation)
{
    bwl_loop_catch_up(&lock->shard->loop);
    begin_step(lock, operation);
}

static void end_query(bwl_lock *lock, bool is_done)
{
    if (is_done)
        bwl_lock_query_done(&lock->base);
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_query_holder(bwl_lock *lock, bwl_operation *operation, bool is_of_all)
{
    const bwl_engine_view *view     = &lock->shard->host.engine->view;
    bool (*look)(bwl_engine_lock *) = is_of_all ? view->look_at_all : view->look;

    begin_query(lock, operation);
    operation->is_of_all = is_of_all;
    end_query(lock, look == NULL || look(&lock->base));
}

void bwl_lock_query_breaker(bwl_lock *lock, bwl_operation *operation, uint64_t id)
{
    begin_query(lock, operation);
    end_query(lock, lock->shard->host.engine->view.ask_breaker(&lock->base, id));
}

void bwl_lock_announce(bwl_lock *lock, bwl_operation *operation, const char *text)
{
    bwl_lock_begin(lock, operation, BWL_EXTEND);
    operation->announces  = true;
    lock->history.has_led = true;
    (void)bwl_shard_now(lock->shard);
    end_query(lock, lock->engine->view.election->announce(&lock->base, text));
}

void bwl_lock_observe(bwl_lock *lock, bwl_operation *operation, const bwl_leader *seen,
                      bwl_ms until)
{
    begin_query(lock, operation);
    operation->observes = true;
    end_query(lock, lock->engine->view.election->observe(&lock->base, seen, until));
}

void bwl_lock_step(bwl_lock *lock, bwl_operation *operation, bwl_transaction *transaction)
{
    begin_query(lock, operation);
    end_query(lock, lock->shard->host.engine->step(&lock->base, transaction));
}

void bwl_lock_list(bwl_lock *lock, bwl_operation *operation)
{
    bwl_listing *listing = lock->base.listing;

    assert(!listing->is_at_end);
    listing->count        = 0;
    listing->fault.status = BWL_OK;
    begin_step(lock, operation);
    end_query(lock, lock->shard->host.engine->view.list(&lock->base));
}

void bwl_lock_force_release(bwl_lock *lock, bwl_operation *operation, uint64_t id)
{
    begin_query(lock, operation);
    end_query(lock, lock->shard->host.engine->forced.start(&lock->base, id));
}
