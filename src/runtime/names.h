/*
 * names.h -- the locks of one shard by name: whether a name is in use here already; and which shard
 * a name is pinned to.
 *
 * A hash table whose chains run through the locks, so that adding one allocates nothing but, at
 * times, more chains.  Without memory for these the chains become longer.
 */
#pragma once

#include "core/status.h"

#include <stdatomic.h>

struct bwl_lock;

typedef struct bwl_named {
    struct bwl_lock **chains; /* NULL: none needed yet */
    size_t            chains_count;
    size_t            count;
} bwl_named;

/* locked: adds the lock, which is found before others of its name.  False: no memory for the first
 * chains; the lock is not added. */
bool bwl_named_add(bwl_named *named, struct bwl_lock *lock);

/* locked: does nothing if the lock was not added. */
void bwl_named_remove(bwl_named *named, struct bwl_lock *lock);

/* locked: the lock of this name that was added last, or NULL. */
struct bwl_lock *bwl_named_find(const bwl_named *named, const char *name, size_t size);

void bwl_named_free(bwl_named *named);

/* ---- pins ------------------------------------------------------------------------------------
 *
 * A name is pinned to a shard while it is in use, so that the threads of one client that want the
 * same lock share a shard and hand the lock over there (local_groups.h).
 *
 * Each pin is one atomic number, without a mutex: the number of locks, and the shard in the lowest
 * byte.  A client has a fixed table of them, indexed by the hash of the name: names that collide
 * share a shard. */

/* Pins to the shard that the entry names, if it is in use, and returns its number.  Otherwise pins
 * to `shard` and returns that, unless it is below 0: then returns -1 and changes nothing. */
int bwl_name_pin(atomic_uint *pin, int shard);

/* NULL is a no-op, for both. */
void bwl_name_unpin(atomic_uint *pin);
void bwl_name_pin_move_to_first(atomic_uint *pin);
