/*
 * channels.c -- SUBSCRIBE, PUBLISH and their relatives.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/protocol.h"
#include "sim/redis/core/pubsub.h"

#include <stdlib.h>

/* Shard channels are counted apart. */
static void confirm(model_call *call, model_channel_kind kind, const char *word,
                    const model_text *channel)
{
    const model_link *link  = call->link;
    size_t            count = model_channels_of(link, MODEL_SHARD_CHANNEL)->count;

    if (kind != MODEL_SHARD_CHANNEL)
        count = model_subscriptions(link) - count;
    model_bytes_add_text(call->out, call->resp < 3 ? "*3\r\n" : ">3\r\n");
    model_reply_text(call, word);
    if (channel != NULL)
        model_reply_bulk(call, *channel);
    else
        model_reply_null(call);
    model_reply_integer(call, (int64_t)count);
}

static void subscribe(model_call *call, model_channel_kind kind, const char *word)
{
    for (size_t i = 1; i < call->argc; i++) {
        (void)model_subscribe(call->link, kind, call->argv[i]);
        confirm(call, kind, word, &call->argv[i]);
    }
}

static void cmd_subscribe(model_call *call)
{
    subscribe(call, MODEL_CHANNEL, "subscribe");
}

static void cmd_psubscribe(model_call *call)
{
    subscribe(call, MODEL_PATTERN, "psubscribe");
}

static void cmd_ssubscribe(model_call *call)
{
    if (call->origin == MODEL_FROM_EXEC) {
        model_reply_error(call, "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
        return;
    }
    subscribe(call, MODEL_SHARD_CHANNEL, "ssubscribe");
}

/* Without names: all of them. */
static void unsubscribe(model_call *call, model_channel_kind kind, const char *word)
{
    const model_table *channels = model_channels_of(call->link, kind);
    size_t             at       = 0;
    model_entry       *entry;

    for (size_t i = 1; i < call->argc; i++) {
        (void)model_unsubscribe(call->link, kind, call->argv[i]);
        confirm(call, kind, word, &call->argv[i]);
    }
    if (call->argc > 1)
        return;
    if (channels->count == 0)
        confirm(call, kind, word, NULL);
    while ((entry = model_table_next(channels, &at)) != NULL) {
        char      *copy = model_text_copy((model_text){ entry->key, entry->size });
        model_text name = { copy, entry->size };
        (void)model_unsubscribe(call->link, kind, name);
        confirm(call, kind, word, &name);
        free(copy);
    }
}

static void cmd_unsubscribe(model_call *call)
{
    unsubscribe(call, MODEL_CHANNEL, "unsubscribe");
}

static void cmd_punsubscribe(model_call *call)
{
    unsubscribe(call, MODEL_PATTERN, "punsubscribe");
}

static void cmd_sunsubscribe(model_call *call)
{
    unsubscribe(call, MODEL_SHARD_CHANNEL, "sunsubscribe");
}

/* A message of a primary is the effect of a PUBLISH there. */
static void publish(model_call *call, bool is_sharded)
{
    model_server      *server  = call->server;
    const model_owner *owner   = &server->owner;
    model_text         channel = call->argv[1];
    model_text         message = call->argv[2];
    size_t             count   = model_publish(server, is_sharded, channel, message);

    if (server->is_cluster && call->origin != MODEL_FROM_PRIMARY && owner->cluster_publish != NULL)
        owner->cluster_publish(owner->arg, is_sharded, channel.at, channel.size, message.at,
                               message.size);
    call->is_forced = !server->is_cluster;
    model_reply_integer(call, (int64_t)count);
}

static void cmd_publish(model_call *call)
{
    publish(call, false);
}

static void cmd_spublish(model_call *call)
{
    publish(call, true);
}

/* ---- PUBSUB ---------------------------------------------------------------------------------- */

static void show_channels(model_call *call, model_channel_kind kind)
{
    const model_table *channels = model_channels(call->server, kind);
    model_bytes        out      = { .size = 0 };
    size_t             at       = 0;
    size_t             count    = 0;
    model_entry       *entry;

    while ((entry = model_table_next(channels, &at)) != NULL) {
        model_text name = { entry->key, entry->size };
        if (call->argc > 2 && !model_text_matches(name, call->argv[2]))
            continue;
        model_write_bulk(&out, name);
        count++;
    }
    model_reply_array(call, count);
    model_bytes_add(call->out, out.at, out.size);
    model_bytes_free(&out);
}

static void pubsub_channels(model_call *call)
{
    show_channels(call, MODEL_CHANNEL);
}

static void pubsub_shardchannels(model_call *call)
{
    show_channels(call, MODEL_SHARD_CHANNEL);
}

static void show_counts(model_call *call, model_channel_kind kind)
{
    model_reply_array(call, (call->argc - 2) * 2);
    for (size_t i = 2; i < call->argc; i++) {
        model_reply_bulk(call, call->argv[i]);
        model_reply_integer(call, (int64_t)model_subscribers(call->server, kind, call->argv[i]));
    }
}

static void pubsub_numsub(model_call *call)
{
    show_counts(call, MODEL_CHANNEL);
}

static void pubsub_shardnumsub(model_call *call)
{
    show_counts(call, MODEL_SHARD_CHANNEL);
}

static void pubsub_numpat(model_call *call)
{
    model_reply_integer(call, model_channels(call->server, MODEL_PATTERN)->count);
}

static const model_sub subs_pubsub[] = {
    { "channels", -2, pubsub_channels, false, false },
    { "numsub", -2, pubsub_numsub, false, false },
    { "numpat", 2, pubsub_numpat, false, false },
    { "shardchannels", -2, pubsub_shardchannels, true, false },
    { "shardnumsub", -2, pubsub_shardnumsub, true, false },
    { .name = NULL },
};

const model_command model_commands_channels[] = {
    { "publish", cmd_publish, 3, 1, 1, 1, CMD(FAST) | CMD(CHANNELS) | CMD(STALE) | CAT(PUBSUB),
      NULL },
    { "spublish", cmd_spublish, 3, 1, 1, 1,
      CMD(FAST) | CMD(CHANNELS) | CMD(SHARDED) | CMD(STALE) | CMD(SINCE_7) | CAT(PUBSUB), NULL },
    { "subscribe", cmd_subscribe, -2, 1, -1, 1,
      CMD(SENTINEL) | CMD(CHANNELS) | CMD(NOSCRIPT) | CMD(STALE) | CMD(IN_RESP2) | CAT(PUBSUB),
      NULL },
    { "psubscribe", cmd_psubscribe, -2, 1, -1, 1,
      CMD(SENTINEL) | CMD(CHANNELS) | CMD(PATTERNS) | CMD(NOSCRIPT) | CMD(STALE) | CMD(IN_RESP2) |
          CAT(PUBSUB),
      NULL },
    { "ssubscribe", cmd_ssubscribe, -2, 1, -1, 1,
      CMD(CHANNELS) | CMD(SHARDED) | CMD(NOSCRIPT) | CMD(STALE) | CMD(IN_RESP2) | CMD(SINCE_7) |
          CAT(PUBSUB),
      NULL },
    { "unsubscribe", cmd_unsubscribe, -1, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(STALE) | CMD(IN_RESP2) | CAT(PUBSUB), NULL },
    { "punsubscribe", cmd_punsubscribe, -1, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(STALE) | CMD(IN_RESP2) | CAT(PUBSUB), NULL },
    { "sunsubscribe", cmd_sunsubscribe, -1, 0, 0, 0,
      CMD(NOSCRIPT) | CMD(STALE) | CMD(IN_RESP2) | CMD(SINCE_7) | CAT(PUBSUB), NULL },
    { "pubsub", model_run_sub, -2, 0, 0, 0, CMD(SUB) | CMD(STALE) | CAT(PUBSUB), subs_pubsub },
    { .name = NULL },
};
