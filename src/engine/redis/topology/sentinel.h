/*
 * sentinel.h -- finds the primary of a service that sentinels monitor.  See sentinel.c.
 */
#pragma once

#include "engine/redis/topology/router.h"
#include "engine/redis/topology/sentinel_service.h"

typedef struct bwl_sentinel bwl_sentinel;

/* Adds the sentinels, once the config is complete; or those of another shard.  USAGE, REFUSED (a
 * file with a password), NOMEM.  Freed with the router. */
int bwl_sentinel_open(bwl_router *router, const bwl_url *url, bwl_fault *fault);
int bwl_sentinel_share(bwl_router *router, const bwl_router *of);

/* The session is about to be READY: whether its server differs from the last one; and records
 * it. */
bool bwl_sentinel_has_moved(const bwl_session *session);
void bwl_sentinel_served(bwl_session *session);

/* See bwl_session_owner.  A discovery ends within answer_ms of the client's settings, or a little
 * later if a connection to a sentinel has just been opened. */
void bwl_sentinel_discover(bwl_session *session);
bool bwl_sentinel_try_next(bwl_session *session, bwl_ms until);
int  bwl_sentinel_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
bool bwl_sentinel_is_demoted(const bwl_session *session, const char *bytes, size_t size);

/* The deadline for bwl_sentinel_woken; BWL_NEVER: none.  Call it also after a lookup. */
bwl_ms bwl_sentinel_waits_until(const bwl_sentinel *sentinel);
void   bwl_sentinel_woken(bwl_sentinel *sentinel);

void bwl_sentinel_free(bwl_sentinel *sentinel); /* also NULL */
