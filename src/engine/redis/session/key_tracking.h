/*
 * key_tracking.h -- pushes of the server about keys that have changed.  See key_tracking.c.
 */
#ifndef BWL_ENGINE_REDIS_SESSION_KEY_TRACKING_H
#define BWL_ENGINE_REDIS_SESSION_KEY_TRACKING_H

#include "engine/redis/session/session.h"

/* Is this the time to ask the server for pushes of changed keys?  Written before the question, and
 * answered by a frame before its own, which may be an error. */
bool bwl_redis_wants_tracking(const bwl_redis_store         *store,
                              const bwl_redis_open_question *question);
bool bwl_redis_write_tracking(bwl_redis_store *store);

/* A push has come on a connection that tracks. */
void bwl_redis_invalidated(bwl_redis_store *store, const char *bytes, size_t size);

#endif
