#include "runtime/shards.h"
#include "base/clock.h"
#include "core/status.h"
#include "runtime/names.h"

#include <string.h>

enum { ONE_PIN = 1u << 8, SHARD_MASK = ONE_PIN - 1 };

void bwl_name_pins_init(bwl_name_pins *pins)
{
    for (unsigned i = 0; i < BWL_NAME_PINS; i++)
        atomic_init(&pins->entries[i], 0);
}

atomic_uint *bwl_name_pin_of(bwl_name_pins *pins, const char *name)
{
    uint32_t hash = bwl_name_hash(name, strnlen(name, BWL_NAME_MAX));

    return &pins->entries[hash % BWL_NAME_PINS];
}

int bwl_name_pin(atomic_uint *pin, int shard)
{
    unsigned seen = atomic_load_explicit(pin, memory_order_relaxed);
    unsigned next;

    do {
        if (seen < ONE_PIN && shard < 0)
            return -1;
        next = seen >= ONE_PIN ? seen + ONE_PIN : ONE_PIN | (unsigned)shard;
    } while (!atomic_compare_exchange_weak(pin, &seen, next));
    return (int)(next & SHARD_MASK);
}

void bwl_name_pin_move_to_first(atomic_uint *pin)
{
    if (pin != NULL)
        (void)atomic_fetch_and(pin, ~(unsigned)SHARD_MASK);
}

void bwl_name_unpin(atomic_uint *pin)
{
    if (pin == NULL)
        return;
    unsigned before = atomic_fetch_sub(pin, ONE_PIN);

    assert(before >= ONE_PIN);
    (void)before;
}

void bwl_shards_init(bwl_shards *shards, bwl_shard *first)
{
    /* Without a renewal thread, a call runs the loop for all locks, but only for its own shard. */
    bool may_share = first->host.engine->share != NULL && first->host.settings.keeps;

    for (unsigned i = 0; i < BWL_SHARDS_MAX; i++)
        atomic_init(&shards->shards[i], i == 0 ? first : NULL);
    bwl_name_pins_init(&shards->pins);
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

/* The count is only needed if there can be another shard.  A counter that other CPUs read costs
 * half as much as a mutex. */
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

/* A busy shard with a connection is better than an idle one that may not get a connection. */
static bool is_unhealthy(bwl_shard *shard)
{
    return !atomic_load_explicit(&shard->is_connected, memory_order_relaxed) &&
           bwl_clock_now() < atomic_load_explicit(&shard->unhealthy_until, memory_order_relaxed);
}

static bool enter_if_empty(bwl_shard *shard)
{
    unsigned nobody = 0;

    return atomic_load_explicit(&shard->callers, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong(&shard->callers, &nobody, 1);
}

/* Opens one more shard and enters it.  NULL: another call has opened it, or out of memory. */
static bwl_shard *open_shard(bwl_shards *shards, unsigned number)
{
    bwl_shard *shard = NULL;

    (void)pthread_mutex_lock(&shards->opening);
    if (number < atomic_load(&shards->usable) && atomic_load(&shards->shards[number]) == NULL &&
        bwl_shard_share(&shard, atomic_load(&shards->shards[0])) == BWL_OK) {
        bwl_shard_enter(shard);
        atomic_store_explicit(&shards->shards[number], shard, memory_order_release);
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
        if ((count == 0 || !is_unhealthy(open[count])) && enter_if_empty(open[count]))
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

static int number_of(bwl_shards *shards, const bwl_shard *shard)
{
    int i = 0;

    while (atomic_load_explicit(&shards->shards[i], memory_order_relaxed) != shard)
        i++;
    assert(i < BWL_SHARDS_MAX);
    return i;
}

bwl_shard *bwl_shards_enter_for(bwl_shards *shards, const char *name, atomic_uint **ret_pin)
{
    atomic_uint *pin    = bwl_name_pin_of(&shards->pins, name);
    bwl_shard   *chosen = NULL;

    if (atomic_load_explicit(&shards->usable, memory_order_relaxed) == 1)
        return bwl_shards_enter(shards); /* all names are in one shard */
    int number = bwl_name_pin(pin, -1);
    if (number < 0) {
        chosen = bwl_shards_enter(shards);
        number = bwl_name_pin(pin, number_of(shards, chosen));
    }
    *ret_pin         = pin;
    bwl_shard *shard = atomic_load_explicit(&shards->shards[number], memory_order_acquire);
    if (shard == chosen)
        return shard;
    if (chosen != NULL)
        bwl_shard_leave(chosen);
    bwl_shard_enter(shard);
    return shard;
}
