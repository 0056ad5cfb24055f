/*
 * pubsub.c -- who is subscribed to what.  Messages go to the links in the order in which they
 * subscribed.
 */
#include "sim/redis/core/cluster.h"
#include "sim/redis/core/inside.h"

static void *new_links(void)
{
    model_links *links = model_allocate(sizeof *links);

    *links = (model_links){ .count = 0 };
    return links;
}

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
    void **links = model_table_add(&link->server->channels[kind], channel, &is_new);
    if (is_new)
        *links = new_links();
    model_links_add(*links, link);
    return true;
}

bool model_unsubscribe(model_link *link, model_channel_kind kind, model_text channel)
{
    void *nothing;

    /* Removed here last: the text may be that of the link's own table. */
    void **links = model_table_find(&link->server->channels[kind], channel);
    if (links == NULL || !model_links_remove(*links, link))
        return false;
    if (((model_links *)*links)->count == 0) {
        void *empty = NULL;
        (void)model_table_remove(&link->server->channels[kind], channel, &empty);
        model_links_free(empty);
    }
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

static void send_message(model_link *link, const char *kind, const model_text *texts, size_t count)
{
    bool         waits = link->server->version == MODEL_VALKEY_9;
    model_bytes *out   = model_push_output(link, waits ? &link->pushes : NULL);

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

/* The slot of a channel belongs to another node now. */
void model_unsubscribe_moved(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link  *link = server->links.at[i];
        size_t       at   = 0;
        model_entry *entry;
        while ((entry = model_table_next(&link->channels[MODEL_SHARD_CHANNEL], &at)) != NULL) {
            model_text channel = { entry->key, entry->size };
            if (model_cluster_serves(server, channel))
                continue;
            model_write_push(link, 3);
            model_write_bulk(&link->out, model_text_of("sunsubscribe"));
            model_write_bulk(&link->out, channel);
            (void)model_unsubscribe(link, MODEL_SHARD_CHANNEL, channel);
            model_bytes_print(&link->out, ":%u\r\n",
                              (unsigned)link->channels[MODEL_SHARD_CHANNEL].count);
        }
    }
}
