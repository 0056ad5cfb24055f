/*
 * output.h -- what a server writes to its links.
 *
 * Output is collected in each link and leaves when the present feed ends, one piece for each link,
 * as a pass of the event loop of Redis does it.
 */
#pragma once

#include "sim/redis/data/bytes.h"
#include "sim/redis/server.h"

/* Bytes for a link: replies, and what is outside of a reply. */
model_bytes *model_link_output(model_link *link);
/* For a push.  While the link runs a command, the push follows the reply. */
model_bytes *model_push_output(model_link *link);
/* For an invalidation, which follows the pushes. */
model_bytes *model_invalidation_output(model_link *link);
/* The reply has ended: what follows it is appended. */
void model_output_end_reply(model_link *link);
/* The link ends after what it was sent. */
void model_link_end(model_link *link);

/* Sends the output of one link, from 0 on.  NULL: no link is left that has some. */
model_link *model_output_send_next(model_server *server, size_t *at);
void        model_output_forget(model_link *link); /* frees it */
void        model_outputs_end(model_server *server);
