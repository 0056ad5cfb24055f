/*
 * quorum.h -- several independent Redis servers; a majority decides.
 *
 *      redlock://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT],HOST[:PORT]...
 *
 * The router has one session for each server, in the order of the URL.
 * protocol/quorum.c counts the votes.
 */
#pragma once

#include "base/url.h"
#include "engine/redis/topology/router.h"

/* Checks the options and the number of hosts of the URL.  USAGE, UNSUPPORTED. */
int bwl_quorum_check_url(const bwl_url *url, bwl_fault *fault);

/* Reads restart-wait= and drift=.  USAGE. */
int bwl_quorum_configure(bwl_redis_config *config, bwl_settings *settings, const bwl_url *url,
                         bwl_fault *fault);

/* Checks that the last session has another address than those before it, because each server has
 * one vote.  USAGE. */
int bwl_quorum_check_last(const bwl_router *router, bwl_fault *fault);

/* See bwl_session_owner.  REFUSED: the server is not independent of the others; UNREACHABLE: it was
 * started so recently that it may have lost grants. */
int bwl_quorum_check_info(bwl_session *session, const char *info, size_t size, bwl_fault *fault);
