/*
 * pubsub.h -- the subscriptions of links, and the messages to them.
 */
#pragma once

#include "sim/redis/core/state.h"

/* False: nothing has changed. */
bool model_subscribe(model_link *link, model_channel_kind kind, model_text channel);
bool model_unsubscribe(model_link *link, model_channel_kind kind, model_text channel);
void model_unsubscribe_all(model_link *link, model_channel_kind kind);
/* The subscriptions of a link; the keys are the channels. */
const model_table *model_channels_of(const model_link *link, model_channel_kind kind);
size_t             model_subscriptions(const model_link *link); /* of all kinds */

/* The channels of a server that have subscribers. */
const model_table *model_channels(const model_server *server, model_channel_kind kind);
size_t model_subscribers(const model_server *server, model_channel_kind kind, model_text channel);
/* Returns how many links got the message. */
size_t model_publish(model_server *server, bool is_sharded, model_text channel, model_text message);
void   model_pubsub_end(model_server *server);
