/*
 * election.h -- the announcement of a hold, and who observes it: announce.c, observe.c.
 */
#pragma once

#include "engine/election.h"
#include "engine/redis/redis.h"

typedef struct bwl_redis_announced bwl_redis_announced;
typedef struct bwl_redis_observer  bwl_redis_observer;

/* ---- announce.c */

/* See bwl_election. */
bool bwl_redis_announce(bwl_engine_lock *lock, const char *text);
int  bwl_redis_announced_status(const bwl_engine_lock *lock, bwl_fault *fault);
void bwl_redis_withdraw(bwl_engine_lock *lock);

/* The lock is held after a YES to its owner: announces again what it has announced. */
void bwl_redis_announce_again(bwl_session *session, bwl_engine_lock *lock);

/* This command of the lock's machine is sent next: it may end the hold, or let others share it. */
void bwl_redis_withdraw_before(bwl_session *session, bwl_engine_lock *lock,
                               bwl_redis_command command);

/* ---- observe.c */

extern const bwl_election bwl_redis_election;

/* The earliest time at which bwl_redis_observe_due has something to do; BWL_NEVER. */
bwl_ms bwl_redis_observe_deadline(const bwl_redis *redis);
void   bwl_redis_observe_due(bwl_redis *redis);

/* See bwl_session_owner: a push that is no grant; the pushes of this connection are lost. */
void bwl_redis_observe_push(bwl_session *session, const char *bytes, size_t size);
void bwl_redis_observe_lost(const bwl_session *session);

void bwl_redis_forget_observer(bwl_redis_lock *part);
