/*
 * quorum.h -- several independent Redis servers, of which a majority decides.
 *
 *      redlock://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT],HOST[:PORT]...
 *
 * The router has a session for each, in the order of the URL.  What a majority
 * is, and what it is worth, is protocol/quorum.c's.
 */
#pragma once

#include "base/url.h"
#include "engine/redis/topology/router.h"

/* The options of such a URL and its number of hosts.  USAGE, UNSUPPORTED. */
int bwl_quorum_check_url(const bwl_url *url, bwl_fault *fault);

/* restart-wait= and drift=.  USAGE. */
int bwl_quorum_configure(bwl_redis_config *config, bwl_settings *settings, const bwl_url *url,
                         bwl_fault *fault);

/* One server has one vote: is the last session another server than those before it, by its name?
 * USAGE. */
int bwl_quorum_check_last(const bwl_router *router, bwl_fault *fault);

/* See bwl_session_owner.  REFUSED: the server is not independent of the others; UNREACHABLE: it may
 * have forgotten what it granted. */
int bwl_quorum_check_info(bwl_session *session, const char *info, size_t size, bwl_fault *fault);
