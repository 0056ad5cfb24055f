/*
 * link.h -- the beginning and the end of a link.
 */
#pragma once

#include "sim/redis/server.h"

/* It watches, tracks and queues nothing, and has no subscriptions. */
void model_link_clear(model_link *link);
void model_link_forget(model_link *link);     /* frees it */
void model_links_flush(model_server *server); /* sends output, and closes the links that end */
void model_links_end(model_server *server);   /* frees all of them */
