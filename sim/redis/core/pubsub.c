/*
 * pubsub.c -- see pubsub.h.  Messages go to the links in the order in which they subscribed.
 */
#include "sim/redis/core/pubsub.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/protocol.h"

size_t model_subscriptions(const model_link *link)
{
    return link->channels[MODEL_CHANNEL].count + link->channels[MODEL_PATTERN].count +
           link->channels[MODEL_SHARD_CHANNEL].count;
}

bool model_subscribe(model_link *link, model_channel_kind kind, model_text channel)
{
    bool is_new;

    (void)model_table_add(&link->channels[kind], channel, &is_new);
    if (!is_new)
        return false;
    model_links_table_add(&link->server->channels[kind], channel, link);
    return true;
}

bool model_unsubscribe(model_link *link, model_channel_kind kind, model_text channel)
{
    void *nothing;

    /* Removed here last: the text may be that of the link's own table. */
    if (!model_links_table_remove(&link->server->channels[kind], channel, link))
        return false;
    return model_table_remove(&link->channels[kind], channel, &nothing);
}

void model_unsubscribe_all(model_link *link, model_channel_kind kind)
{
    size_t       at = 0;
    model_entry *entry;

    while ((entry = model_table_next(&link->channels[kind], &at)) != NULL)
        (void)model_unsubscribe(link, kind, (model_text){ entry->key, entry->size });
    model_table_clear(&link->channels[kind], NULL);
}

const model_table *model_channels_of(const model_link *link, model_channel_kind kind)
{
    return &link->channels[kind];
}

/* ---- messages -------------------------------------------------------------------------------- */

const model_table *model_channels(const model_server *server, model_channel_kind kind)
{
    return &server->channels[kind];
}

size_t model_subscribers(const model_server *server, model_channel_kind kind, model_text channel)
{
    void **links = model_table_find(&server->channels[kind], channel);

    return links != NULL ? ((const model_links *)*links)->count : 0;
}

static void send_message(model_link *link, const char *kind, const model_text *texts, size_t count)
{
    model_bytes *out = model_push_output(link);

    model_bytes_print(out, "%c%zu\r\n", link->resp < 3 ? '*' : '>', count + 1);
    model_write_bulk(out, model_text_of(kind));
    for (size_t i = 0; i < count; i++)
        model_write_bulk(out, texts[i]);
}

size_t model_publish(model_server *server, bool is_sharded, model_text channel, model_text message)
{
    model_text   texts[3] = { channel, channel, message };
    size_t       at       = 0;
    size_t       count    = 0;
    model_entry *entry;
    void       **found = model_table_find(
              &server->channels[is_sharded ? MODEL_SHARD_CHANNEL : MODEL_CHANNEL], channel);

    if (found != NULL) {
        const model_links *links = *found;
        for (size_t i = 0; i < links->count; i++)
            send_message(links->at[i], is_sharded ? "smessage" : "message", texts + 1, 2);
        count = links->count;
    }
    if (is_sharded)
        return count;
    while ((entry = model_table_next(&server->channels[MODEL_PATTERN], &at)) != NULL) {
        const model_links *links = entry->value;
        texts[0]                 = (model_text){ entry->key, entry->size };
        if (!model_text_matches(channel, texts[0]))
            continue;
        for (size_t i = 0; i < links->count; i++)
            send_message(links->at[i], "pmessage", texts, 3);
        count += links->count;
    }
    return count;
}

void model_pubsub_end(model_server *server)
{
    for (int kind = MODEL_CHANNEL; kind < MODEL_CHANNEL_KINDS; kind++)
        model_links_table_clear(&server->channels[kind]);
}
