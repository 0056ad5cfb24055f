/*
 * queue_watch.h -- learns that another client waits for a lock that this client holds.
 *
 * The server remembers that this connection has read the lock and its queue, and pushes when one of
 * them changes (client-side caching of Redis 6): the first waiter adds its entry to the queue, of
 * whatever version its bowline is.  Nothing in the scripts or keys of the queue depends on it.
 *
 *      CLIENT TRACKING ON OPTIN    once for each connection
 *      CLIENT CACHING YES          only the next command is remembered: no script of this client is
 *      EXISTS lock queue           1: nobody waits yet
 *      GET lock                    our value: nobody has taken it away
 *      invalidate [key]            a push, once: the lock or its queue has changed
 *
 * Between the read and the push no change is missed.  The lock counts as wanted without an answer,
 * after a lost connection or a lost slot, if the server refuses, and after a change of the lock: it
 * may have been released by force.  Our own extension is such a change, too.
 */
#pragma once

#include "engine/redis/redis.h"

/* See bwl_engine.watch. */
void bwl_redis_watch(bwl_engine_lock *lock);

/* Changes cannot be noticed any more: ends the watch, if there is one, as if another client
 * waited. */
void bwl_redis_unwatch(bwl_engine_lock *lock);

/* The server pushes that this key has changed; NULL: any key. */
void bwl_redis_on_queue_changed(bwl_session *session, const bwl_bytes *key);
