#include "runtime/pool.h"
#include "base/clock.h"
#include "base/fault.h"

#include <stdlib.h>

#define LOCK_NAME "update" /* not a key: each command names its own key */

void bwl_pool_init(bwl_pool *pool, bwl_shard *first)
{
    *pool = (bwl_pool){ .first = first };
    (void)pthread_mutex_init(&pool->mutex, NULL); /* of the default kind: cannot fail */
    bwl_cond_init(&pool->cond);
}

/* No other thread uses it: the slot is taken, or the pool is being closed. */
static void close_slot(bwl_pool_slot *slot)
{
    if (slot->shard != NULL)
        bwl_shard_close(slot->shard); /* frees the lock */
    free(slot->transaction.seen);
    slot->shard       = NULL;
    slot->lock        = NULL;
    slot->transaction = (bwl_transaction){ .seen = NULL };
}

void bwl_pool_close(bwl_pool *pool)
{
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        close_slot(&pool->slots[i]);
    if (bwl_forked(&pool->first->host.guard))
        return; /* a thread of the parent may wait on the condition */
    (void)pthread_cond_destroy(&pool->cond);
    (void)pthread_mutex_destroy(&pool->mutex);
}

static int open_slot(bwl_pool *pool, bwl_pool_slot *slot, bwl_fault *fault)
{
    const bwl_terms terms = { .lease_ms = BWL_LEASE_DEFAULT_MS, .max_hold_ms = BWL_NEVER };

    int status = bwl_shard_share(&slot->shard, pool->first);
    if (status < 0)
        return bwl_fail(fault, (bwl_status)status, "cannot open a connection for an update");
    slot->shard->host.takes_no_locks = true;
    bwl_shard_lock(slot->shard);
    status = bwl_lock_new(&slot->lock, slot->shard, LOCK_NAME, &terms, fault);
    bwl_shard_unlock(slot->shard);
    if (status < 0)
        close_slot(slot);
    return status;
}

/* locked: a free slot, an open one if there is one.  NULL: all are taken. */
static bwl_pool_slot *find(bwl_pool *pool)
{
    bwl_pool_slot *closed = NULL;

    for (unsigned i = 0; i < BWL_POOL_MAX; i++) {
        bwl_pool_slot *slot = &pool->slots[i];
        if (slot->is_taken)
            continue;
        if (slot->shard != NULL)
            return slot;
        if (closed == NULL)
            closed = slot;
    }
    return closed;
}

/* locked: waits for a free slot.  False: the time is over. */
static bool await(bwl_pool *pool, bwl_ms until)
{
    bwl_ms now = bwl_clock_now();

    if (now >= until)
        return false;
    bwl_cond_wait(&pool->cond, &pool->mutex, until == BWL_NEVER ? BWL_NEVER : until - now);
    return true;
}

int bwl_pool_take(bwl_pool *pool, bwl_ms until, bwl_pool_slot **ret_slot, bwl_fault *fault)
{
    int            status = BWL_OK;
    bwl_pool_slot *slot;

    if (pool->first->host.engine->step == NULL)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                        "%s: updates no keys: use redis://, unix:// or redis+sentinel://, or with "
                        "TLS rediss:// or rediss+sentinel://",
                        pool->first->host.engine->scheme);
    (void)pthread_mutex_lock(&pool->mutex);
    while ((slot = find(pool)) == NULL && status == BWL_OK)
        if (!await(pool, until))
            status = bwl_fail(fault, BWL_STATUS_TIMEOUT,
                              "%d updates of this client were under way during the whole wait",
                              BWL_POOL_MAX);
    if (slot != NULL) {
        slot->is_taken = true;
        slot->taker    = pthread_self();
        status         = BWL_OK;
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    if (slot == NULL)
        return status;
    if (slot->shard == NULL)
        status = open_slot(pool, slot, fault);
    if (status < 0) {
        bwl_pool_give(pool, slot, true);
        return status;
    }
    *ret_slot = slot;
    return BWL_OK;
}

bool bwl_pool_is_in(bwl_pool *pool)
{
    pthread_t self  = pthread_self();
    bool      is_in = false;

    (void)pthread_mutex_lock(&pool->mutex);
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        is_in |= pool->slots[i].is_taken && pthread_equal(pool->slots[i].taker, self) != 0;
    (void)pthread_mutex_unlock(&pool->mutex);
    return is_in;
}

void bwl_pool_give(bwl_pool *pool, bwl_pool_slot *slot, bool is_broken)
{
    assert(slot->is_taken);
    if (is_broken)
        close_slot(slot);
    (void)pthread_mutex_lock(&pool->mutex);
    slot->is_taken = false;
    pthread_cond_signal(&pool->cond);
    (void)pthread_mutex_unlock(&pool->mutex);
}
