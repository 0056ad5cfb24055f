/*
 * server.c -- see server.h: a server as a whole, its role, and the effects of its primary.
 */
#include "sim/redis/core/acl.h"
#include "sim/redis/core/cluster.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/protocol.h"
#include "sim/redis/core/script.h"

#include <stdlib.h>
#include <string.h>

enum { EXPIRED_PER_TICK = 200 };

/* ---- begin and end --------------------------------------------------------------------------- */

static void write_id(const model_server *server, char ret_id[MODEL_RUN_ID_SIZE + 1])
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < MODEL_RUN_ID_SIZE; i++) {
        if (i % 16 == 0)
            bits = server->owner.random(server->owner.arg);
        ret_id[i] = "0123456789abcdef"[bits & 15];
        bits >>= 4;
    }
    ret_id[MODEL_RUN_ID_SIZE] = '\0';
}

static void begin_replication(model_server *server)
{
    model_replication *r = &server->replication;

    write_id(server, r->id);
    memset(r->id_before, '0', MODEL_RUN_ID_SIZE);
    r->id_before[MODEL_RUN_ID_SIZE] = '\0';
    r->offset_before                = UINT64_MAX;
}

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
        .effects    = { .begin = options->offset },
        .config     = model_config_new(),
    };
    server->data =
        options->dataset != NULL ? model_dataset_copy(options->dataset) : model_dataset_new();
    write_id(server, server->run_id);
    begin_replication(server);
    model_commands_begin(server);
    server->lua = model_lua_new(server);
    model_acl_begin(server);
    if (options->is_cluster)
        (void)model_config_set(server->config, model_text_of("cluster-enabled"),
                               model_text_of("yes"));
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
    while (server->links.count != 0)
        model_link_forget(server->links.at[server->links.count - 1]);
    free(server->links.at);
    free(server->with_output.at);
    for (int kind = MODEL_CHANNEL; kind < MODEL_CHANNEL_KINDS; kind++)
        model_table_clear(&server->channels[kind], model_links_free);
    model_table_clear(&server->watched, model_links_free);
    model_table_clear(&server->tracked, model_links_free);
    model_commands_end(server);
    model_bytes_free(&server->effects.log);
    model_bytes_free(&server->effects.pending);
    model_bytes_free(&server->effects.own);
    model_acl_end(server);
    model_lua_free(server->lua);
    model_config_free(server->config);
    model_dataset_free(server->data);
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

/* A new primary goes on with a history of its own, and remembers that of its primary. */
void model_turn(model_server *server, const char *host, uint16_t port)
{
    model_replication *r           = &server->replication;
    bool               was_primary = r->primary_host[0] == '\0';

    r->is_up        = false;
    r->primary_port = port;
    if (r->from_primary != NULL) {
        model_link_forget(r->from_primary);
        r->from_primary = NULL;
    }
    if (host == NULL) {
        r->primary_host[0] = '\0';
        if (was_primary)
            return;
        memcpy(r->id_before, r->id, sizeof r->id);
        r->offset_before = model_server_offset(server) + 1;
        write_id(server, r->id);
        return;
    }
    size_t size = strlen(host);
    size        = size < sizeof r->primary_host ? size : sizeof r->primary_host - 1;
    memcpy(r->primary_host, host, size);
    r->primary_host[size] = '\0';
    memset(r->replicas, 0, sizeof r->replicas);
    model_waiters_disconnect(server);
}

void model_server_follow(model_server *server, const char *host, uint16_t port, int64_t now_us)
{
    server->now_us = now_us;
    model_turn(server, host, port);
    server->replication.is_asked = false;
    model_links_flush(server);
}

void model_server_primary_link(model_server *server, bool is_up, int64_t now_us)
{
    server->now_us            = now_us;
    server->replication.is_up = is_up;
}

bool model_server_asked_to_follow(model_server *server, char ret_host[256], uint16_t *ret_port)
{
    model_replication *r = &server->replication;

    if (!r->is_asked)
        return false;
    r->is_asked = false;
    memcpy(ret_host, r->primary_host, sizeof r->primary_host);
    *ret_port = r->primary_port;
    return true;
}

/* ---- effects of a primary -------------------------------------------------------------------- */

static void execute_effect(model_link *link, const model_text *argv, size_t argc)
{
    model_call call = {
        .server   = link->server,
        .link     = link,
        .command  = model_command_find(link->server, argv[0]),
        .argv     = argv,
        .argc     = argc,
        .out      = &link->out,
        .database = &link->database,
        .resp     = 2,
        .origin   = MODEL_FROM_PRIMARY,
    };

    if (call.command == NULL || !model_command_accepts(call.command, argc))
        return;
    if (link->transaction.is_open && (call.command->flags & MODEL_CMD_NOQUEUE) == 0)
        model_transaction_queue(link, call.command, argv, argc);
    else
        model_run(&call);
    link->out.size = 0;
}

/* Carries out what is whole.  A transaction that is not complete stays in the input, and begins
 * again with the next bytes.  Returns the size of what was carried out. */
static size_t run_effects(model_link *link)
{
    model_parser parser = { .argc = 0 };
    model_text   all    = model_bytes_text(&link->in);
    size_t       used   = 0;
    size_t       whole  = 0;
    size_t       piece  = 0;

    while (model_parse(&parser, (model_text){ all.at + used, all.size - used }, true, &piece) ==
           MODEL_PARSE_DONE) {
        if (parser.argc != 0)
            execute_effect(link, parser.argv, parser.argc);
        used += piece;
        if (!link->transaction.is_open)
            whole = used;
    }
    model_transaction_clear(link);
    model_parser_free(&parser);
    return whole;
}

/* The log of this server is that of its primary, byte for byte. */
void model_server_apply(model_server *server, const char *bytes, size_t size, int64_t now_us)
{
    model_replication *r = &server->replication;

    server->now_us = now_us;
    if (r->from_primary == NULL) {
        r->from_primary = model_link_open(server, NULL, "primary", now_us);
        r->from_primary->flags |= LINK_IS_PRIMARY;
        r->from_primary->user = NULL;
    }
    model_bytes *in = &r->from_primary->in;
    model_bytes_add(in, bytes, size);
    server->effects.is_silent = true;
    size_t whole              = run_effects(r->from_primary);
    server->effects.is_silent = false;
    model_bytes_add(&server->effects.log, in->at, whole);
    model_bytes_drop(in, whole);
    model_links_flush(server);
}

void model_server_load(model_server *server, const model_dataset *dataset, uint64_t offset,
                       int64_t now_us)
{
    model_replication *r = &server->replication;

    server->now_us = now_us;
    if (r->from_primary != NULL) {
        model_link_forget(r->from_primary);
        r->from_primary = NULL;
    }
    model_dataset_free(server->data);
    server->data             = model_dataset_copy(dataset);
    server->effects.log.size = 0;
    server->effects.begin    = offset;
    server->expiry.entry     = 0;
    model_trackers_flush(server);
    model_links_flush(server);
}

/* ---- cluster --------------------------------------------------------------------------------- */

void model_server_set_view(model_server *server, const model_cluster_view *view, int64_t now_us)
{
    server->now_us = now_us;
    if (server->view == NULL)
        server->view = model_allocate(sizeof *server->view);
    *server->view = *view;
    model_unsubscribe_moved(server);
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
