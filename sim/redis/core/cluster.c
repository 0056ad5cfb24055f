/*
 * cluster.c -- see cluster.h.
 */
#include "sim/redis/core/cluster.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/protocol.h"
#include "sim/redis/core/pubsub.h"
#include "sim/redis/data/hash.h"
#include "sim/redis/data/store.h"

/* What the keys of one request have in common. */
typedef struct survey {
    const model_call *call;
    model_text        first_key;
    unsigned          slot;
    unsigned          missing;
    unsigned          existing;
    bool              has_keys;
    bool              has_several; /* different keys */
    bool              is_crossed;
    bool              writes;
    bool              has_pubsub; /* channels: whether keys exist does not matter */
    bool              is_queued;  /* Valkey checks the keys when EXEC comes */
} survey;

static bool exists(const model_call *call, model_text key)
{
    const model_value *value = model_store_find(call->server->data, *call->database, key);

    return value != NULL && !model_value_has_expired(value, model_now_ms(call->server));
}

static void look_at(survey *s, const model_command *command, const model_text *argv, size_t argc)
{
    bool   is_channel = (command->flags & MODEL_CMD_CHANNELS) != 0;
    size_t first;
    size_t last;
    size_t step;

    s->writes = s->writes || (command->flags & MODEL_CMD_WRITE) != 0;
    if ((is_channel && (command->flags & MODEL_CMD_SHARDED) == 0) ||
        !model_command_keys(command, argv, argc, &first, &last, &step))
        return;
    for (size_t i = first; i <= last; i += step) {
        unsigned slot = model_slot_of(argv[i]);
        if (!s->has_keys) {
            s->slot      = slot;
            s->first_key = argv[i];
            s->has_keys  = true;
        }
        s->is_crossed  = s->is_crossed || slot != s->slot;
        s->has_several = s->has_several || !model_text_equal(argv[i], s->first_key);
        if (s->has_pubsub || s->is_queued)
            continue;
        if (exists(s->call, argv[i]))
            s->existing++;
        else
            s->missing++;
    }
}

static survey survey_of(const model_call *call)
{
    survey                   s           = { .call = call };
    const model_transaction *transaction = &call->link->transaction;

    if (call->origin == MODEL_FROM_LINK && transaction->is_open &&
        model_text_is(call->argv[0], "exec")) {
        s.has_pubsub =
            (transaction->flags & MODEL_CAT_PUBSUB) != 0 && call->server->version == MODEL_VALKEY_9;
        for (size_t i = 0; i < transaction->count; i++)
            look_at(&s, transaction->commands[i].command, transaction->commands[i].argv,
                    transaction->commands[i].argc);
    } else {
        s.has_pubsub = (call->command->flags & MODEL_CAT_PUBSUB) != 0;
        s.is_queued  = transaction->is_open && call->server->version == MODEL_VALKEY_9;
        look_at(&s, call->command, call->argv, call->argc);
    }
    return s;
}

model_route model_cluster_route(const model_call *call, unsigned *ret_slot, int *ret_node)
{
    const model_cluster_view *view  = call->server->view;
    unsigned                  flags = call->link->flags;
    survey                    s     = survey_of(call);

    *ret_slot = s.slot;
    *ret_node = MODEL_NO_NODE;
    if (!s.has_keys)
        return MODEL_ROUTE_HERE;
    if (view == NULL || view->owner[s.slot] == MODEL_NO_NODE)
        return MODEL_ROUTE_UNSERVED;
    int  owner     = view->owner[s.slot];
    bool is_mine   = owner == (int)view->self;
    int  target    = is_mine ? view->migrating_to[s.slot] : MODEL_NO_NODE;
    bool importing = !is_mine && view->importing_from[s.slot] != MODEL_NO_NODE;
    *ret_node      = owner;
    if (s.is_crossed)
        return MODEL_ROUTE_CROSSSLOT;
    if (view->is_down && !s.has_pubsub) /* cluster-allow-pubsubshard-when-down */
        return MODEL_ROUTE_DOWN;
    if (target != MODEL_NO_NODE && s.missing != 0) {
        if (s.existing != 0 && call->server->version != MODEL_REDIS_6_2)
            return MODEL_ROUTE_TRYAGAIN;
        *ret_node = target;
        return MODEL_ROUTE_ASK;
    }
    if (importing && (flags & LINK_ASKING) != 0)
        return s.has_several && s.missing != 0 ? MODEL_ROUTE_TRYAGAIN : MODEL_ROUTE_HERE;
    if ((flags & LINK_READONLY) != 0 && !s.writes && view->nodes[view->self].primary == owner)
        return MODEL_ROUTE_HERE;
    return is_mine ? MODEL_ROUTE_HERE : MODEL_ROUTE_MOVED;
}

void model_cluster_refuse(model_call *call, model_route route, unsigned slot, int node)
{
    const model_cluster_view *view = call->server->view;
    const model_node *to = view != NULL && node != MODEL_NO_NODE ? &view->nodes[node] : NULL;

    switch (route) {
    case MODEL_ROUTE_HERE: return;
    case MODEL_ROUTE_MOVED:
        model_reply_error(call, "MOVED %u %s:%u", slot, to->host, to->port);
        return;
    case MODEL_ROUTE_ASK: model_reply_error(call, "ASK %u %s:%u", slot, to->host, to->port); return;
    case MODEL_ROUTE_CROSSSLOT:
        model_reply_error(call, "CROSSSLOT Keys in request don't hash to the same slot");
        return;
    case MODEL_ROUTE_TRYAGAIN:
        model_reply_error(call, "TRYAGAIN Multiple keys request during rehashing of slot");
        return;
    case MODEL_ROUTE_DOWN: model_reply_error(call, "CLUSTERDOWN The cluster is down"); return;
    case MODEL_ROUTE_UNSERVED: model_reply_error(call, "CLUSTERDOWN Hash slot not served"); return;
    }
}

/* This node, or the primary of which it is a replica, owns the slot. */
static bool serves(const model_server *server, model_text channel)
{
    const model_cluster_view *view = server->view;

    if (view == NULL)
        return false;
    int owner = view->owner[model_slot_of(channel)];
    return owner == (int)view->self ||
           (owner != MODEL_NO_NODE && view->nodes[view->self].primary == owner);
}

/* The slot of a channel may belong to another node now. */
static void unsubscribe_moved(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link        *link     = server->links.at[i];
        const model_table *channels = model_channels_of(link, MODEL_SHARD_CHANNEL);
        size_t             at       = 0;
        model_entry       *entry;
        while ((entry = model_table_next(channels, &at)) != NULL) {
            model_text channel = { entry->key, entry->size };
            if (serves(server, channel))
                continue;
            model_bytes *out = model_link_output(link);
            model_write_head(out, link->resp < 3 ? '*' : '>', 3);
            model_write_bulk(out, model_text_of("sunsubscribe"));
            model_write_bulk(out, channel);
            (void)model_unsubscribe(link, MODEL_SHARD_CHANNEL, channel);
            model_bytes_print(out, ":%u\r\n", (unsigned)channels->count);
        }
    }
}

void model_cluster_set_view(model_server *server, const model_cluster_view *view)
{
    if (server->view == NULL)
        server->view = model_allocate(sizeof *server->view);
    *server->view = *view;
    unsubscribe_moved(server);
}
