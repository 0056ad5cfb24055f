/*
 * admin.c -- TIME, CONFIG, and replication as a client sees it.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/effects.h"
#include "sim/redis/core/replication.h"

#include <stdio.h>
#include <string.h>

enum { NUMBER_ROOM = 32 };

static void reply_number_text(model_call *call, int64_t number)
{
    char text[NUMBER_ROOM];

    (void)snprintf(text, sizeof text, "%lld", (long long)number);
    model_reply_text(call, text);
}

static void cmd_time(model_call *call)
{
    model_reply_array(call, 2);
    reply_number_text(call, call->server->now_us / MODEL_S_IN_US);
    reply_number_text(call, call->server->now_us % MODEL_S_IN_US);
}

/* Only what tests use. */
static void cmd_debug(model_call *call)
{
    if (model_arg_is(call, 1, "SET-ACTIVE-EXPIRE") && call->argc == 3) {
        call->server->config->active_expire = !model_arg_is(call, 2, "0");
        model_reply_ok(call);
    } else {
        model_reply_error(call,
                          "ERR unknown subcommand or wrong number of arguments for '%.*s'. "
                          "Try DEBUG HELP.",
                          (int)call->argv[1].size, call->argv[1].at);
    }
}

/* ---- CONFIG ---------------------------------------------------------------------------------- */

static bool is_wanted(const model_call *call, model_text name)
{
    for (size_t i = 2; i < call->argc; i++)
        if (model_text_matches(name, call->argv[i]))
            return true;
    return false;
}

static void config_get(model_call *call)
{
    const model_table *texts = &call->server->config->texts;
    size_t             count = 0;
    model_entry       *entry;

    for (size_t at = 0; (entry = model_table_next(texts, &at)) != NULL;)
        count += is_wanted(call, (model_text){ entry->key, entry->size });
    model_reply_map(call, count);
    for (size_t at = 0; (entry = model_table_next(texts, &at)) != NULL;) {
        model_text name = { entry->key, entry->size };
        if (!is_wanted(call, name))
            continue;
        model_reply_bulk(call, name);
        model_reply_bulk(call, model_bytes_text(entry->value));
    }
}

static void config_set(model_call *call)
{
    bool is_old = call->server->version == MODEL_REDIS_6_2;

    if (call->argc % 2 != 0) {
        model_reply_error(call, "ERR wrong number of arguments for 'config|set' command");
        return;
    }
    for (size_t i = 2; i < call->argc; i += 2) {
        model_text name = call->argv[i];
        switch (model_config_set(call->server, name, call->argv[i + 1])) {
        case MODEL_CONFIG_SET: break;
        case MODEL_CONFIG_UNKNOWN:
            if (is_old)
                model_reply_error(call, "ERR Unsupported CONFIG parameter: %.*s", (int)name.size,
                                  name.at);
            else
                model_reply_error(call,
                                  "ERR Unknown option or number of arguments for CONFIG SET - "
                                  "'%.*s'",
                                  (int)name.size, name.at);
            return;
        case MODEL_CONFIG_INVALID:
            model_reply_error(call,
                              "ERR CONFIG SET failed (possibly related to argument '%.*s') - "
                              "argument couldn't be parsed",
                              (int)name.size, name.at);
            return;
        }
    }
    model_reply_ok(call);
}

static void config_ok(model_call *call)
{
    model_reply_ok(call);
}

static const model_sub subs_config[] = {
    { "get", -3, config_get, false, false },
    { "set", -4, config_set, false, false },
    { "resetstat", 2, config_ok, false, false },
    { "rewrite", 2, config_ok, false, false },
    { .name = NULL },
};

/* ---- replication ----------------------------------------------------------------------------- */

static void cmd_role(model_call *call)
{
    const model_replication *replication = call->server->replication;
    size_t                   count       = 0;

    if (call->server->services != NULL) {
        model_sentinel_role(call);
        return;
    }
    if (model_is_replica(call->server)) {
        model_reply_array(call, 5);
        model_reply_text(call, "slave");
        model_reply_text(call, replication->primary_host);
        model_reply_integer(call, replication->primary_port);
        model_reply_text(call, replication->is_up ? "connected" : "connect");
        model_reply_integer(call,
                            replication->is_up ? (int64_t)model_server_offset(call->server) : -1);
        return;
    }
    for (unsigned i = 0; i < MODEL_REPLICAS_MAX; i++)
        count += replication->replicas[i].is_there;
    model_reply_array(call, 3);
    model_reply_text(call, "master");
    model_reply_integer(call, (int64_t)model_server_offset(call->server));
    model_reply_array(call, count);
    for (unsigned i = 0; i < MODEL_REPLICAS_MAX; i++) {
        if (!replication->replicas[i].is_there)
            continue;
        model_reply_array(call, 3);
        model_reply_text(call, "127.0.0.1");
        reply_number_text(call, i);
        reply_number_text(call, (int64_t)replication->replicas[i].offset);
    }
}

static void cmd_replicaof(model_call *call)
{
    model_server *server = call->server;
    model_text    host   = call->argv[1];
    int64_t       port   = 0;
    bool          is_end = model_arg_is(call, 1, "no") && model_arg_is(call, 2, "one");
    char          text[256];

    if (server->is_cluster) {
        model_reply_error(call, "ERR REPLICAOF not allowed in cluster mode.");
        return;
    }
    if (!is_end && (!model_text_integer(call->argv[2], &port) || port < 0 || port > UINT16_MAX ||
                    host.size >= sizeof text)) {
        model_reply_error(call, "ERR Invalid master port");
        return;
    }
    memcpy(text, host.at, is_end ? 0 : host.size);
    text[is_end ? 0 : host.size] = '\0';
    if (!is_end && strcmp(text, server->replication->primary_host) == 0 &&
        server->replication->primary_port == port) {
        model_reply_status(call, "OK Already connected to specified master");
        return;
    }
    model_turn(server, is_end ? NULL : text, (uint16_t)port, true);
    model_reply_ok(call);
}

static void cmd_wait(model_call *call)
{
    model_server *server = call->server;
    model_link   *link   = call->link;
    int64_t       replicas;
    int64_t       timeout_ms;

    if (model_is_replica(server)) {
        model_reply_error(call,
                          "ERR WAIT cannot be used with replica instances. Please also note that "
                          "since Redis 4.0 if a replica is configured to be writable (which is not "
                          "the default) writes to replicas are just local and are not propagated.");
        return;
    }
    if (!model_take_integer(call, 1, NULL, &replicas) ||
        !model_take_integer(call, 2, "timeout is not an integer or out of range", &timeout_ms))
        return;
    if (timeout_ms < 0 || timeout_ms > INT64_MAX / MODEL_MS_IN_US - server->now_us) {
        model_reply_error(call, timeout_ms < 0 ? "ERR timeout is negative"
                                               : "ERR timeout is out of range");
        return;
    }
    size_t count = model_replicas_with(server, link->written);
    if ((int64_t)count >= replicas || call->origin != MODEL_FROM_LINK) {
        model_reply_integer(call, (int64_t)count);
        return;
    }
    link->wait = (model_wait){
        .until_us   = timeout_ms == 0 ? INT64_MAX : server->now_us + timeout_ms * MODEL_MS_IN_US,
        .offset     = link->written,
        .replicas   = replicas,
        .is_waiting = true,
    };
}

const model_command model_commands_admin[] = {
    { "config", model_run_sub, -2, 0, 0, 0,
      CMD(NOSCRIPT) | CMD(SUB) | CMD(STALE) | CAT(ADMIN) | CAT(DANGEROUS), subs_config },
    { "debug", cmd_debug, -2, 0, 0, 0, CMD(NOSCRIPT) | CMD(STALE) | CAT(ADMIN) | CAT(DANGEROUS),
      NULL },
    { "time", cmd_time, 1, 0, 0, 0, CMD(FAST) | CMD(STALE), NULL },
    { "role", cmd_role, 1, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(FAST) | CMD(STALE) | CAT(ADMIN) | CAT(DANGEROUS), NULL },
    { "replicaof", cmd_replicaof, 3, 0, 0, 0,
      CMD(NOSCRIPT) | CMD(STALE) | CAT(ADMIN) | CAT(DANGEROUS), NULL },
    { "slaveof", cmd_replicaof, 3, 0, 0, 0,
      CMD(NOSCRIPT) | CMD(STALE) | CAT(ADMIN) | CAT(DANGEROUS), NULL },
    { "wait", cmd_wait, 3, 0, 0, 0, CMD(NOSCRIPT) | CMD(BLOCKS) | CAT(CONNECTION), NULL },
    { .name = NULL },
};
