/*
 * quorum.h -- of a lock on most of several independent Redis servers: which they are, and what
 * most of them say.
 *
 *      redlock://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT],HOST[:PORT]...
 *
 * A client of those has one store for each, whose `node` is its place in the URL, from 0.  What a
 * majority is, and what it is worth, is protocol/quorum.c's.
 */
#ifndef BWL_ENGINE_REDIS_TOPOLOGY_QUORUM_H
#define BWL_ENGINE_REDIS_TOPOLOGY_QUORUM_H

#include "engine/redis/session/session.h"

int bwl_redis_many_open(bwl_host *client, const bwl_url *url, bwl_fault *fault);
int bwl_redis_many_choose(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

/* That of one of them; of a client with one server, its only one. */
bwl_redis_store *bwl_redis_store_of(const bwl_host *client, unsigned node);

/* Is it known who has the lock, or will no more be known?  And what most of the servers say, or an
 * answer that says why there is no such thing. */
bool             bwl_redis_has_seen(const bwl_engine_lock *lock);
bwl_redis_looker bwl_redis_seen(const bwl_engine_lock *lock);

/* What INFO says of one of several.  REFUSED: it is not independent of the others; UNREACHABLE: it
 * may have forgotten what it gave. */
int bwl_redis_check_independence(bwl_redis_store *store, const char *info, size_t size,
                                 bwl_fault *fault);

#endif
