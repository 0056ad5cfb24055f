/*
 * discovery.h -- finds the primary of a service that sentinels monitor.  See discovery.c.
 */
#pragma once

#include "engine/redis/topology/router.h"
#include "engine/redis/topology/sentinel.h"

/* Reads the path of the URL: *ret_rest is what follows the service.  USAGE. */
int bwl_discovery_parse(bwl_endpoint *ret_endpoint, const bwl_url *url, const char **ret_rest,
                        bwl_fault *fault);

/* Adds the sentinels, once the config is complete; or those of another shard.  USAGE, REFUSED (a
 * file with a password), NOMEM. */
int bwl_discovery_open(bwl_router *router, const bwl_url *url, bwl_fault *fault);
int bwl_discovery_share(bwl_router *router, const bwl_router *of);

/* The session is about to be READY: whether its server differs from the last one; and records
 * it. */
bool bwl_discovery_has_moved(const bwl_session *session);
void bwl_discovery_served(bwl_session *session);

/* See bwl_session_owner. */
void bwl_discovery_start(bwl_session *session);
bool bwl_discovery_next(bwl_session *session, bwl_ms until);
int  bwl_discovery_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
bool bwl_discovery_is_demoted(const bwl_session *session, const char *bytes, size_t size);
