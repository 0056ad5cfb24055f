/*
 * name_pins.h -- pins a name to a shard while it is in use, so that the threads of one client that
 * want the same lock meet in one shard and pass it on there (local_groups.h).
 *
 * A fixed table of counters, indexed by the hash of the name: names that collide share a shard.
 * Without a mutex: each entry is one atomic number.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

enum { BWL_NAME_PINS = 1024 };

typedef struct bwl_name_pins {
    atomic_uint entries[BWL_NAME_PINS]; /* the count of pins, and in the lowest byte the shard */
} bwl_name_pins;

void bwl_name_pins_init(bwl_name_pins *pins);

atomic_uint *bwl_name_pin_of(bwl_name_pins *pins, const char *name);

/* Pins to the shard that the entry names, if it is in use; the number of that shard.  Else pins to
 * `shard`, unless that is below 0: then -1 is returned and nothing is changed. */
int bwl_name_pin(atomic_uint *pin, int shard);

/* NULL is a no-op, for both. */
void bwl_name_unpin(atomic_uint *pin);
void bwl_name_pin_move_to_first(atomic_uint *pin);
