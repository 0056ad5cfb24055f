/*
 * tracking.h -- CLIENT TRACKING: which links have read which keys, and the pushes for a change.
 *
 * The default mode only: no prefixes, no redirection.
 */
#pragma once

#include "sim/redis/data/bytes.h"
#include "sim/redis/server.h"

/* no_loop: the link gets no push for its own changes. */
void model_tracking_begin(model_link *link, bool no_loop);
void model_untrack(model_link *link);
void model_track(model_link *link, model_text key);
void model_tracking_invalidate(model_server *server, model_text key);
void model_tracking_invalidate_all(model_server *server); /* every key has changed */
void model_tracking_end(model_server *server);
