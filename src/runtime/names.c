#include "runtime/names.h"
#include "runtime/lock.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

enum { CHAINS_AT_FIRST = 16, ONE_PIN = 1u << 8, SHARD_MASK = ONE_PIN - 1 };

static uint64_t hash_of(const bwl_lock *lock)
{
    return bwl_hash(lock->base.name, lock->base.name_size);
}

/* Keeps the order within a chain: the latest lock is found first. */
static bool grow(bwl_named *named)
{
    size_t     count  = named->chains_count == 0 ? CHAINS_AT_FIRST : named->chains_count * 2;
    bwl_lock **chains = calloc(count, sizeof(bwl_lock *));

    if (chains == NULL)
        return false;
    for (size_t i = 0; i < named->chains_count; i++) {
        for (bwl_lock *lock = named->chains[i], *next; lock != NULL; lock = next) {
            bwl_lock **end = &chains[hash_of(lock) % count];
            while (*end != NULL)
                end = &(*end)->next_named;
            next             = lock->next_named;
            lock->next_named = NULL;
            *end             = lock;
        }
    }
    free(named->chains);
    named->chains       = chains;
    named->chains_count = count;
    return true;
}

bool bwl_named_add(bwl_named *named, bwl_lock *lock)
{
    assert(!lock->is_named);
    if (named->count >= named->chains_count && !grow(named) && named->chains == NULL)
        return false;
    bwl_lock **chain = &named->chains[hash_of(lock) % named->chains_count];
    lock->next_named = *chain;
    *chain           = lock;
    lock->is_named   = true;
    named->count++;
    return true;
}

void bwl_named_remove(bwl_named *named, bwl_lock *lock)
{
    if (!lock->is_named)
        return;
    bwl_lock **where = &named->chains[hash_of(lock) % named->chains_count];
    while (*where != lock)
        where = &(*where)->next_named;
    *where         = lock->next_named;
    lock->is_named = false;
    named->count--;
}

bwl_lock *bwl_named_find(const bwl_named *named, const char *name, size_t size)
{
    if (named->count == 0)
        return NULL;
    bwl_lock *lock = named->chains[bwl_hash(name, size) % named->chains_count];
    while (lock != NULL &&
           (lock->base.name_size != size || memcmp(lock->base.name, name, size) != 0))
        lock = lock->next_named;
    return lock;
}

void bwl_named_free(bwl_named *named)
{
    free(named->chains);
    *named = (bwl_named){ 0 };
}

/* ---- pins ------------------------------------------------------------------------------------ */

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
