/*
 * shards.c -- see shards.h.
 */
#include "runtime/shards.h"
#include "base/clock.h"

#include <string.h>

/* A meeting is a number: how many, and in the lowest byte the lane. */
enum { ONE_MORE = 1u << 8, LANE_OF = ONE_MORE - 1 };

void bwl_shards_init(bwl_shards *shards, bwl_shard *first)
{
    /* Without a keeper, whoever is inside a call drives what all have; but only in his own lane. */
    bool may_share = first->host.engine->share != NULL && first->host.settings.keeps;

    for (unsigned i = 0; i < BWL_SHARDS_MAX; i++)
        atomic_init(&shards->shards[i], i == 0 ? first : NULL);
    for (unsigned i = 0; i < BWL_NAME_PINS; i++)
        atomic_init(&shards->name_pins[i], 0);
    atomic_init(&shards->usable, may_share ? BWL_SHARDS_MAX : 1);
    (void)pthread_mutex_init(&shards->opening, NULL); /* of the default kind: cannot fail */
}

void bwl_shards_close(bwl_shards *shards)
{
    for (unsigned i = BWL_SHARDS_MAX; i-- > 0;) {
        bwl_shard *shard = atomic_load(&shards->shards[i]);
        if (shard != NULL)
            bwl_shard_close(shard);
    }
    (void)pthread_mutex_destroy(&shards->opening);
}

void bwl_shards_use_first_only(bwl_shards *shards)
{
    if (atomic_load_explicit(&shards->usable, memory_order_relaxed) == 1)
        return;
    (void)pthread_mutex_lock(&shards->opening);
    atomic_store_explicit(&shards->usable, 1, memory_order_relaxed);
    (void)pthread_mutex_unlock(&shards->opening);
}

/* How many are inside matters only where another lane can be chosen.  A count that others read is
 * as dear as half a mutex. */
static bool is_counted(const bwl_shard *shard)
{
    return shard->host.engine->share != NULL;
}

void bwl_shard_enter(bwl_shard *shard)
{
    if (!is_counted(shard))
        return;
    (void)atomic_fetch_add_explicit(&shard->callers, 1, memory_order_relaxed);
}

void bwl_shard_leave(bwl_shard *shard)
{
    if (!is_counted(shard))
        return;
    unsigned before = atomic_fetch_sub_explicit(&shard->callers, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
}

/* Those that work are better than one that is empty and may stay without a connection. */
static bool is_unhealthy(bwl_shard *shard)
{
    return !atomic_load_explicit(&shard->is_connected, memory_order_relaxed) &&
           bwl_clock_now() < atomic_load_explicit(&shard->unhealthy_until, memory_order_relaxed);
}

static bool takes_empty(bwl_shard *shard)
{
    unsigned nobody = 0;

    return atomic_load_explicit(&shard->callers, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong(&shard->callers, &nobody, 1);
}

/* One more, and in it; NULL if another call has opened it meanwhile, or there is no memory. */
static bwl_shard *open_shard(bwl_shards *shards, unsigned place)
{
    bwl_shard *shard = NULL;

    (void)pthread_mutex_lock(&shards->opening);
    if (place < atomic_load(&shards->usable) && atomic_load(&shards->shards[place]) == NULL &&
        bwl_shard_share(&shard, atomic_load(&shards->shards[0])) == BWL_OK) {
        bwl_shard_enter(shard);
        atomic_store_explicit(&shards->shards[place], shard, memory_order_release);
    }
    (void)pthread_mutex_unlock(&shards->opening);
    return shard;
}

bwl_shard *bwl_shards_enter(bwl_shards *shards)
{
    unsigned   usable = atomic_load_explicit(&shards->usable, memory_order_relaxed);
    bwl_shard *open[BWL_SHARDS_MAX];
    unsigned   count = 0;

    if (usable == 1) {
        bwl_shard *only = atomic_load_explicit(&shards->shards[0], memory_order_relaxed);
        bwl_shard_enter(only);
        return only;
    }
    for (; count < usable; count++) {
        open[count] = atomic_load_explicit(&shards->shards[count], memory_order_acquire);
        if (open[count] == NULL)
            break;
        if ((count == 0 || !is_unhealthy(open[count])) && takes_empty(open[count]))
            return open[count];
    }
    bwl_shard *fresh = count < usable ? open_shard(shards, count) : NULL;
    if (fresh != NULL)
        return fresh;
    bwl_shard *shard = open[0];
    for (unsigned i = 1; i < count && i < BWL_SHARDS_SHARED; i++)
        if (!is_unhealthy(open[i]) && atomic_load(&open[i]->callers) < atomic_load(&shard->callers))
            shard = open[i];
    bwl_shard_enter(shard);
    return shard;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static unsigned number_of(bwl_shards *shards, const bwl_shard *shard)
{
    unsigned i = 0;

    while (atomic_load_explicit(&shards->shards[i], memory_order_relaxed) != shard)
        i++;
    assert(i < BWL_SHARDS_MAX);
    return i;
}

bwl_shard *bwl_shards_pin(bwl_shards *shards, const char *name, atomic_uint **ret_name_pin)
{
    uint32_t     hash   = bwl_name_hash(name, strnlen(name, BWL_NAME_MAX));
    atomic_uint *m      = &shards->name_pins[hash % BWL_NAME_PINS];
    unsigned     seen   = atomic_load_explicit(m, memory_order_relaxed);
    bwl_shard   *chosen = NULL;

    if (atomic_load_explicit(&shards->usable, memory_order_relaxed) == 1)
        return bwl_shards_enter(shards); /* all meet there */
    for (;;) {
        bool     others  = seen >= ONE_MORE;
        unsigned changed = seen + ONE_MORE;
        if (!others) {
            chosen  = chosen != NULL ? chosen : bwl_shards_enter(shards);
            changed = ONE_MORE | number_of(shards, chosen);
        }
        if (!atomic_compare_exchange_weak(m, &seen, changed))
            continue;
        *ret_name_pin = m;
        if (!others)
            return chosen;
        if (chosen != NULL)
            bwl_shard_leave(chosen);
        bwl_shard *shard =
            atomic_load_explicit(&shards->shards[changed & LANE_OF], memory_order_acquire);
        bwl_shard_enter(shard);
        return shard;
    }
}

void bwl_shards_repin_to_first(atomic_uint *name_pin)
{
    if (name_pin != NULL)
        (void)atomic_fetch_and(name_pin, ~(unsigned)LANE_OF);
}

void bwl_shards_unpin(atomic_uint *name_pin)
{
    if (name_pin == NULL)
        return;
    unsigned before = atomic_fetch_sub(name_pin, ONE_MORE);

    assert(before >= ONE_MORE);
    (void)before;
}
