/*
 * host.c -- the runtime functions for engines: the table of engine/host.h.
 */
#include "base/fault.h"
#include "runtime/background_release.h"

#include <stdio.h>

static bwl_ms now(bwl_host *host)
{
    return bwl_shard_now(bwl_shard_of(host));
}

static bwl_ms next_timer(bwl_host *host)
{
    return bwl_loop_next_timer(&bwl_shard_of(host)->loop);
}

static void set_timer(bwl_host *host, bwl_ms at)
{
    bwl_shard *shard = bwl_shard_of(host);

    bwl_loop_set_timer(&shard->loop, &shard->loop.engine_timer, at);
}

static void wake(bwl_host *host)
{
    bwl_loop_wake(&bwl_shard_of(host)->loop);
}

static void lock_client(bwl_host *host)
{
    bwl_shard_lock(bwl_shard_of(host));
}

static void unlock_client(bwl_host *host)
{
    bwl_shard_unlock(bwl_shard_of(host));
}

static bool may_hold_back(const bwl_host *host)
{
    return bwl_loop_may_hold_back(&((const bwl_shard *)(const void *)host)->loop);
}

static void connected(bwl_host *host, bool is_connected)
{
    bwl_shard *shard         = bwl_shard_of(host);
    bool       was_connected = atomic_exchange(&shard->is_connected, is_connected);

    if (!is_connected && !was_connected)
        atomic_store(&shard->unhealthy_until, bwl_ms_add(bwl_shard_now(shard), BWL_UNHEALTHY_MS));
    if (shard->connecting.result == BWL_PENDING)
        bwl_loop_complete(&shard->loop, &shard->connecting, BWL_RELEASED);
}

static void background_sent(bwl_host *host)
{
    bwl_background_sent(bwl_shard_of(host));
}

static void background_answered(bwl_host *host)
{
    bwl_background_answered(bwl_shard_of(host));
}

static void event(bwl_engine_lock *lock, bwl_event ev)
{
    bwl_lock_event(bwl_lock_of_engine(lock), ev);
}

static void revoke(bwl_engine_lock *lock)
{
    bwl_lock_revoke(bwl_lock_of_engine(lock));
}

static void query_done(bwl_engine_lock *lock)
{
    bwl_lock_query_done(bwl_lock_of_engine(lock));
}

static void pin(bwl_engine_lock *lock)
{
    bwl_lock_pin(bwl_lock_of_engine(lock));
}

static void unpin(bwl_engine_lock *lock)
{
    bwl_lock_unpin(bwl_lock_of_engine(lock));
}

__attribute__((format(printf, 2, 0))) static void set_error(bwl_engine_lock *lock,
                                                            const char *format, va_list arguments)
{
    if (!bwl_lock_takes_error(bwl_lock_of_engine(lock)))
        return;
    bwl_fault_clear(&lock->why);
    (void)vsnprintf(lock->why.text, sizeof lock->why.text, format, arguments); /* may cut */
}

static void set_fault(bwl_engine_lock *lock, const bwl_fault *why)
{
    if (bwl_lock_takes_error(bwl_lock_of_engine(lock)))
        lock->why = *why;
}

static void clear_error(bwl_engine_lock *lock)
{
    if (bwl_lock_takes_error(bwl_lock_of_engine(lock)))
        bwl_fault_clear(&lock->why);
}

static bool is_awaited(const bwl_engine_lock *lock)
{
    return ((const bwl_lock *)(const void *)lock)->operation != NULL;
}

const bwl_host_calls bwl_runtime_calls = {
    .now                 = now,
    .next_timer          = next_timer,
    .set_timer           = set_timer,
    .wake                = wake,
    .lock                = lock_client,
    .unlock              = unlock_client,
    .may_hold_back       = may_hold_back,
    .connected           = connected,
    .background_sent     = background_sent,
    .background_answered = background_answered,
    .event               = event,
    .revoke              = revoke,
    .query_done          = query_done,
    .pin                 = pin,
    .unpin               = unpin,
    .set_error           = set_error,
    .set_fault           = set_fault,
    .clear_error         = clear_error,
    .is_awaited          = is_awaited,
};
