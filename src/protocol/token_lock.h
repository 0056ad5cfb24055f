/*
 * token_lock.h -- the lock that is one key of one Redis server.
 */
#ifndef BWL_PROTOCOL_TOKEN_LOCK_H
#define BWL_PROTOCOL_TOKEN_LOCK_H

#include "core/core.h"

extern const bwl_protocol bwl_token;

/* The same lock, held only when as many replicas have it as the lock request says. */
extern const bwl_protocol bwl_synced_token;

#endif
