/*
 * queue_watch.h -- learns that another client waits for a lock that this client holds.
 *
 * The server remembers that this connection has read the queue of the lock, and pushes when the
 * queue changes (client-side caching of Redis 6): the first waiter adds its entry to the queue, of
 * whatever version its bowline is.  Nothing in the queue's scripts or keys depends on it.
 *
 *      CLIENT TRACKING ON OPTIN    once for each connection
 *      CLIENT CACHING YES          only the next command is remembered: no script of this client is
 *      ZCARD queue                 0: nobody waits yet
 *      invalidate [queue]          a push, once: the queue has changed
 *
 * Between the read and the push no change is missed.  Without an answer, after a lost connection or
 * a lost slot, and if the server refuses, the lock counts as wanted: the client gives it back when
 * it does not need it.
 */
#pragma once

#include "engine/redis/redis.h"

/* See bwl_engine.watch. */
void bwl_redis_watch(bwl_engine_lock *lock);

/* Changes of its queue cannot be noticed any more: ends the watch, if there is one, as if another
 * client waited. */
void bwl_redis_unwatch(bwl_engine_lock *lock);

/* The server pushes that this key has changed; NULL: every key. */
void bwl_redis_on_queue_changed(bwl_session *session, const bwl_resp_value *key);
