/*
 * pool.c -- see pool.h.
 */
#include "runtime/pool.h"
#include "base/clock.h"
#include "base/fault.h"

#include <stdlib.h>
#include <time.h>

#define LOCK_NAME "update" /* nobody sees it: what is asked has a key of its own */

void bwl_pool_init(bwl_pool *pool, bwl_shard *first)
{
    *pool = (bwl_pool){ .first = first };
    (void)pthread_mutex_init(&pool->mutex, NULL); /* of the default kind: cannot fail */
    bwl_cond_init(&pool->cond);
}

/* Nobody else looks at it: it is taken, or the pool is closed. */
static void close_place(bwl_pool_place *place)
{
    if (place->shard != NULL)
        bwl_shard_close(place->shard); /* frees the lock */
    free(place->section.seen);
    place->shard   = NULL;
    place->lock    = NULL;
    place->section = (bwl_section){ .seen = NULL };
}

void bwl_pool_close(bwl_pool *pool)
{
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        close_place(&pool->places[i]);
    if (bwl_forked(&pool->first->host.guard))
        return; /* a thread that waits in the parent would never leave the condition here */
    (void)pthread_cond_destroy(&pool->cond);
    (void)pthread_mutex_destroy(&pool->mutex);
}

static int open_place(bwl_pool *pool, bwl_pool_place *place, bwl_fault *fault)
{
    const bwl_terms terms = { .lease_ms = BWL_LEASE_DEFAULT_MS, .max_hold_ms = BWL_NEVER };

    int status = bwl_shard_share(&place->shard, pool->first);
    if (status < 0)
        return bwl_fail(fault, (bwl_status)status, "cannot open a connection for an update");
    place->shard->host.takes_no_locks = true;
    bwl_shard_lock(place->shard);
    status = bwl_lock_new(&place->lock, place->shard, LOCK_NAME, &terms, fault);
    bwl_shard_unlock(place->shard);
    if (status < 0)
        close_place(place);
    return status;
}

/* locked: one that is open, or else can be opened; NULL: all are taken. */
static bwl_pool_place *find(bwl_pool *pool)
{
    bwl_pool_place *closed = NULL;

    for (unsigned i = 0; i < BWL_POOL_MAX; i++) {
        bwl_pool_place *place = &pool->places[i];
        if (place->is_taken)
            continue;
        if (place->shard != NULL)
            return place;
        if (closed == NULL)
            closed = place;
    }
    return closed;
}

/* locked: false: it is too late. */
static bool await(bwl_pool *pool, bwl_ms until)
{
    bwl_ms          now = bwl_clock_now();
    struct timespec at;

    if (until == BWL_NEVER) {
        (void)pthread_cond_wait(&pool->cond, &pool->mutex);
        return true;
    }
    if (now >= until)
        return false;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)((until - now) / 1000);
    at.tv_nsec += (long)((until - now) % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(&pool->cond, &pool->mutex, &at);
    return true;
}

int bwl_pool_take(bwl_pool *pool, bwl_ms until, bwl_pool_place **ret_place, bwl_fault *fault)
{
    int             status = BWL_OK;
    bwl_pool_place *place;

    if (pool->first->host.engine->step == NULL)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                        "%s: updates no keys: use redis://, unix:// or redis+sentinel://, or with "
                        "TLS rediss:// or rediss+sentinel://",
                        pool->first->host.engine->scheme);
    (void)pthread_mutex_lock(&pool->mutex);
    while ((place = find(pool)) == NULL && status == BWL_OK)
        if (!await(pool, until))
            status = bwl_fail(fault, BWL_STATUS_TIMEOUT,
                              "%d updates of this client were under way for all of the wait",
                              BWL_POOL_MAX);
    if (place != NULL) {
        place->is_taken = true;
        place->taker    = pthread_self();
        status          = BWL_OK;
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    if (place == NULL)
        return status;
    if (place->shard == NULL)
        status = open_place(pool, place, fault);
    if (status < 0) {
        bwl_pool_give(pool, place, true);
        return status;
    }
    *ret_place = place;
    return BWL_OK;
}

bool bwl_pool_is_in(bwl_pool *pool)
{
    pthread_t self  = pthread_self();
    bool      is_in = false;

    (void)pthread_mutex_lock(&pool->mutex);
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        is_in |= pool->places[i].is_taken && pthread_equal(pool->places[i].taker, self) != 0;
    (void)pthread_mutex_unlock(&pool->mutex);
    return is_in;
}

void bwl_pool_give(bwl_pool *pool, bwl_pool_place *place, bool is_broken)
{
    assert(place->is_taken);
    if (is_broken)
        close_place(place);
    (void)pthread_mutex_lock(&pool->mutex);
    place->is_taken = false;
    pthread_cond_signal(&pool->cond);
    (void)pthread_mutex_unlock(&pool->mutex);
}
