#include "runtime/name_pins.h"
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
