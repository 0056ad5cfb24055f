/*
 * token_lock.h -- the locks that are one key of one Redis server.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_token;
extern const bwl_protocol bwl_token_chosen; /* `token` with a value that others may have, too */
extern const bwl_protocol bwl_redisson; /* RLock of Redisson: a hash, a message at each release */
extern const bwl_protocol bwl_symfony;  /* RedisStore of Symfony: a sorted set */

/* `token`, held only when as many replicas have it as the lock request says. */
extern const bwl_protocol bwl_synced_token;
