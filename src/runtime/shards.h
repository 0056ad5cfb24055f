/*
 * shards.h -- the shards of one client: connections that its threads need not share.
 *
 * Two threads on one connection are slower than each on its own, because they wait for each other.
 * Many threads on one connection are faster: their commands go out in one packet, which saves the
 * server and the kernel more work than the waiting costs.  So a call takes a shard without a
 * caller, and opens one if the limit allows it.  If every shard has a caller, it joins one of the
 * first two: fewer shards send more commands in one packet, and with two of them this process works
 * for one while the server works for the other.  Figures: docs/performance.md.
 *
 * The first shard exists from the beginning.  An event loop has one descriptor to poll, which is
 * that of the first shard: once a client is used by an event loop, no other shard is taken.
 */
#pragma once

#include "runtime/shard.h"
#include <stdatomic.h>
#include <stdbool.h>

/* Pins a name to a shard while it is in use, so that the threads of one client that want the same
 * lock share a shard and hand the lock over there (local_groups.h).
 *
 * A fixed table of counters, indexed by the hash of the name: names that collide share a shard.
 * Without a mutex: each entry is one atomic number. */

enum { BWL_NAME_PINS = 1024 };

typedef struct bwl_name_pins {
    atomic_uint entries[BWL_NAME_PINS]; /* the number of pins, and the shard in the lowest byte */
} bwl_name_pins;

void bwl_name_pins_init(bwl_name_pins *pins);

atomic_uint *bwl_name_pin_of(bwl_name_pins *pins, const char *name);

/* Pins to the shard that the entry names, if it is in use, and returns its number.  Otherwise pins
 * to `shard` and returns that, unless it is below 0: then returns -1 and changes nothing. */
int bwl_name_pin(atomic_uint *pin, int shard);

/* NULL is a no-op, for both. */
void bwl_name_unpin(atomic_uint *pin);
void bwl_name_pin_move_to_first(atomic_uint *pin);

enum {
    BWL_SHARDS_MAX    = 4,
    BWL_SHARDS_SHARED = 2, /* so many of them may have several calls */
};

typedef struct bwl_shards {
    _Atomic(bwl_shard *) shards[BWL_SHARDS_MAX]; /* the open ones, then NULL */
    atomic_uint          usable;                 /* how many may be used and opened */
    pthread_mutex_t      opening;
    bwl_name_pins        pins;
} bwl_shards;

/* Takes ownership of the first shard. */
void bwl_shards_init(bwl_shards *shards, bwl_shard *first);
void bwl_shards_close(bwl_shards *shards);

/* Lets calls take only the first shard from now on. */
void bwl_shards_use_first_only(bwl_shards *shards);

/* Not locked: chooses the shard for a call that may block.  End with bwl_shard_leave. */
bwl_shard *bwl_shards_enter(bwl_shards *shards);

/* The same for an acquire that may block: the shard in which this name is in use, if any.  *ret_pin
 * is unpinned when nothing of the lock is left; not written if there is only one shard. */
bwl_shard *bwl_shards_enter_for(bwl_shards *shards, const char *name, atomic_uint **ret_pin);

/* Not locked: counts a call that may block in this shard. */
void bwl_shard_enter(bwl_shard *shard);
void bwl_shard_leave(bwl_shard *shard);
