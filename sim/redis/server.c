/*
 * server.c -- see server.h: a server as a whole, from its parts.
 */
#include "sim/redis/server.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/cluster.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/effects.h"
#include "sim/redis/core/input.h"
#include "sim/redis/core/keyspace.h"
#include "sim/redis/core/link.h"
#include "sim/redis/core/pubsub.h"
#include "sim/redis/core/replication.h"
#include "sim/redis/core/tracking.h"
#include "sim/redis/core/watch.h"
#include "sim/redis/script/script.h"

#include <stdlib.h>
#include <string.h>

enum { EXPIRED_PER_TICK = 200 };

/* ---- begin and end --------------------------------------------------------------------------- */

model_server *model_server_new(const model_server_options *options, model_owner owner)
{
    model_server *server = model_allocate(sizeof *server);

    *server = (model_server){
        .version    = options->version,
        .owner      = owner,
        .host       = model_text_copy(model_text_of(options->host)),
        .port       = options->port,
        .is_cluster = options->is_cluster,
        .now_us     = options->now_us,
        .started_us = options->now_us,
        .config     = model_config_new(),
    };
    server->data =
        options->dataset != NULL ? model_dataset_copy(options->dataset) : model_dataset_new();
    model_effects_begin(server, options->offset);
    model_write_run_id(server, server->run_id);
    model_replication_begin(server);
    model_commands_begin(server);
    server->lua = model_lua_new(server);
    model_acl_begin(server);
    if (options->is_cluster)
        (void)model_server_configure(server, "cluster-enabled", "yes");
    if (options->is_sentinel) {
        server->services  = model_allocate(sizeof *server->services);
        *server->services = (model_sentinel_view){ .services_count = 0 };
    }
    if (options->password != NULL)
        (void)model_server_configure(server, "requirepass", options->password);
    return server;
}

void model_server_free(model_server *server)
{
    if (server == NULL)
        return;
    model_links_end(server);
    model_pubsub_end(server);
    model_watchers_end(server);
    model_tracking_end(server);
    model_commands_end(server);
    model_effects_free(server);
    model_acl_end(server);
    model_lua_free(server->lua);
    model_config_free(server->config);
    model_dataset_free(server->data);
    free(server->replication);
    free(server->view);
    free(server->services);
    free(server->host);
    free(server);
}

const char *model_server_run_id(const model_server *server)
{
    return server->run_id;
}

const model_dataset *model_server_dataset(const model_server *server)
{
    return server->data;
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t model_server_deadline(const model_server *server)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < server->links.count; i++) {
        const model_wait *wait = &server->links.at[i]->wait;
        if (wait->is_waiting && wait->until_us < first)
            first = wait->until_us;
    }
    return first;
}

void model_server_tick(model_server *server, int64_t now_us)
{
    server->now_us = now_us;
    if (server->config->active_expire)
        model_expire_some(server, EXPIRED_PER_TICK);
    model_waiters_serve(server);
    model_links_flush(server);
}

/* ---- roles ----------------------------------------------------------------------------------- */

void model_server_follow(model_server *server, const char *host, uint16_t port, int64_t now_us)
{
    server->now_us = now_us;
    model_turn(server, host, port, false);
    model_links_flush(server);
}

void model_server_acked(model_server *server, unsigned replica, uint64_t offset, int64_t now_us)
{
    server->now_us = now_us;
    model_replica_acked(server, replica, offset);
    model_waiters_serve(server);
    model_links_flush(server);
}

void model_server_lost_replica(model_server *server, unsigned replica, int64_t now_us)
{
    server->now_us = now_us;
    model_replica_lost(server, replica);
}

void model_server_load(model_server *server, const model_dataset *dataset, uint64_t offset,
                       int64_t now_us)
{
    server->now_us = now_us;
    model_end_link_of_primary(server);
    model_load_databases(server, dataset);
    model_effects_begin(server, offset);
    model_links_flush(server);
}

/* ---- settings -------------------------------------------------------------------------------- */

bool model_server_configure(model_server *server, const char *name, const char *value)
{
    return model_config_set(server, model_text_of(name), model_text_of(value)) == MODEL_CONFIG_SET;
}

void model_server_set_view(model_server *server, const model_cluster_view *view, int64_t now_us)
{
    server->now_us = now_us;
    model_cluster_set_view(server, view);
    model_links_flush(server);
}

void model_server_deliver(model_server *server, bool is_sharded, const char *channel,
                          size_t channel_size, const char *message, size_t message_size)
{
    (void)model_publish(server, is_sharded, (model_text){ channel, channel_size },
                        (model_text){ message, message_size });
    model_links_flush(server);
}

/* ---- sentinels ------------------------------------------------------------------------------- */

static void announce(model_server *server, const model_service *before, const model_service *after)
{
    model_bytes text = { .size = 0 };

    if (strcmp(before->primary.host, after->primary.host) == 0 &&
        before->primary.port == after->primary.port)
        return;
    model_bytes_print(&text, "%s %s %u %s %u", after->name, before->primary.host,
                      before->primary.port, after->primary.host, after->primary.port);
    (void)model_publish(server, false, model_text_of("+switch-master"), model_bytes_text(&text));
    model_bytes_free(&text);
}

void model_server_set_services(model_server *server, const model_sentinel_view *view,
                               int64_t now_us)
{
    model_sentinel_view before = *server->services;

    server->now_us    = now_us;
    *server->services = *view;
    for (unsigned i = 0; i < before.services_count; i++)
        for (unsigned j = 0; j < view->services_count; j++)
            if (strcmp(before.services[i].name, view->services[j].name) == 0)
                announce(server, &before.services[i], &view->services[j]);
    model_links_flush(server);
}
