/*
 * tracking.h -- CLIENT TRACKING: which links have read which keys, and the pushes for a change.
 *
 * The default mode, and OPTIN: no prefixes, no redirection, no OPTOUT.
 */
#pragma once

#include "sim/redis/data/bytes.h"
#include "sim/redis/server.h"

/* no_loop: the link gets no push for its own changes.  opts_in: it reads tracked keys only in the
 * command that follows CLIENT CACHING YES. */
void model_tracking_begin(model_link *link, bool no_loop, bool opts_in);
void model_untrack(model_link *link);
void model_track(model_link *link, model_text key);
void model_tracking_invalidate(model_server *server, model_text key);
void model_tracking_invalidate_all(model_server *server); /* every key has changed */
void model_tracking_end(model_server *server);
