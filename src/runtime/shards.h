/*
 * shards.h -- a few clients of one store, so that threads need not share a connection.
 *
 * Two threads on one connection are slower than each on its own, as they wait for each other; many
 * are faster, as their commands go in one packet, which saves the server and the kernel more work
 * than the waiting costs.  So a call takes a lane in which nobody is, opening one if there may be
 * another; and when somebody is in each, it joins one of the first two: more together in fewer
 * lanes, and two so that one of them works here while the server works for the other.  Figures:
 * docs/performance.md.
 *
 * A lane is a whole client: mutex, reactor, connection, keeper.  A lock stays in the lane in which
 * it was acquired, and a name that is in use in the lane where it is: there threads hand it on to
 * each other (local_groups.h).  The first lane is there from the beginning.  It is the one for
 * event loops, which have one descriptor to look at: once a client is used by one, no other is
 * taken any more.
 */
#ifndef BWL_RUNTIME_SHARDS_H
#define BWL_RUNTIME_SHARDS_H

#include "runtime/shard.h"

enum {
    BWL_SHARDS_MAX    = 4,
    BWL_SHARDS_SHARED = 2, /* of these, those that more than one call may be in                  */
    BWL_NAME_PINS     = 1024, /* names share one by their hash: then they share a lane           */
};

typedef struct bwl_shards {
    _Atomic(bwl_shard *) shards[BWL_SHARDS_MAX]; /* the open ones, then NULL                     */
    atomic_uint          usable;                 /* the first so many may be taken, and opened   */
    pthread_mutex_t      opening;
    atomic_uint          name_pins[BWL_NAME_PINS]; /* how many of such names, and in which lane  */
} bwl_shards;

/* Takes the client as the first lane. */
void bwl_shards_init(bwl_shards *shards, bwl_shard *first);

/* Closes every lane. */
void bwl_shards_close(bwl_shards *shards);

/* From now on the first lane is the only one that is taken. */
void bwl_shards_use_first_only(bwl_shards *shards);

/* Not locked: the lane for a call that may wait, which must leave it in the end. */
bwl_shard *bwl_shards_enter(bwl_shards *shards);

/* Not locked: the same for a call that wants this name, in the lane where others are who want it or
 * have it.  Whoever has met has to part, when nothing is left of that here; NULL: has not met. */
bwl_shard *bwl_shards_pin(bwl_shards *shards, const char *name, atomic_uint **ret_name_pin);
void       bwl_shards_unpin(atomic_uint *name_pin);

/* Not locked: who comes from now on to this meeting finds it in the first lane. */
void bwl_shards_repin_to_first(atomic_uint *name_pin);

/* Not locked: the same for a call about a lock, whose lane this is. */
void bwl_shard_enter(bwl_shard *shard);
void bwl_shard_leave(bwl_shard *shard);

#endif
