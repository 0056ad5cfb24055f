/*
 * watch.h -- WATCH: which links watch which keys, and whether a watched key has changed.
 */
#pragma once

#include "sim/redis/data/bytes.h"
#include "sim/redis/server.h"

/* Does nothing if a watched key has changed already. */
void model_watch(model_link *link, model_text key);
void model_unwatch(model_link *link);
/* A watched key has changed, or its time is over since WATCH. */
bool model_watch_has_failed(model_link *link);
void model_watchers_break(model_server *server, unsigned database, model_text key);
/* All watched keys of the database that exist have changed. */
void model_watchers_break_all(model_server *server, unsigned database);
void model_watchers_end(model_server *server);
