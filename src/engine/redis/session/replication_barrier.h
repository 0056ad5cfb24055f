/*
 * replication_barrier.h -- the question whether the replicas have it, of which one is out at a
 * time.  See replication_barrier.c, and docs/design/sync.md for why.
 */
#ifndef BWL_ENGINE_REDIS_SESSION_REPLICATION_BARRIER_H
#define BWL_ENGINE_REDIS_SESSION_REPLICATION_BARRIER_H

#include "engine/redis/session/session.h"

/* Is it the question to the replicas? */
bool bwl_redis_is_wait(const bwl_redis_open_question *question);

/* May the question to the replicas go out now?  False: it is kept until those before it have been
 * answered; or its connection has ended, and it is answered UNSENT. */
bool bwl_redis_wait_admits(bwl_redis_store *store, const bwl_redis_open_question *question);

/* How many of them, from the nth of the ring on, are one; they are written, they are answered: as
 * of a batch. */
size_t            bwl_redis_wait_size(const bwl_redis_store *store, size_t nth);
bool              bwl_redis_write_wait(bwl_redis_store *store, size_t nth, size_t size);
bwl_redis_verdict bwl_redis_wait_heard(bwl_redis_store *store, const char *bytes, size_t size);

/* Too few have it: says so. */
void bwl_redis_wait_says_why(const bwl_redis_store *store, const bwl_redis_open_question *question,
                             const char *bytes, size_t size);

/* This one was answered, and has been settled. */
void bwl_redis_wait_over(bwl_redis_store *store, const bwl_redis_open_question *over);

/* The connection has ended.  Those that are kept: as of bwl_redis_watch_broken. */
bwl_engine_lock *bwl_redis_wait_broken(bwl_redis_store *store);

#endif
