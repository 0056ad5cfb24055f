/*
 * connection.c -- HELLO, AUTH and what else concerns a link alone.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/link.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/pubsub.h"
#include "sim/redis/core/replication.h"

#include <stdlib.h>

/* ---- AUTH and HELLO -------------------------------------------------------------------------- */

static bool authenticate(model_call *call, model_text name, model_text password)
{
    model_user *user = model_acl_authenticate(call->server, name, password);

    if (user == NULL) {
        model_reply_error(call, "WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    call->link->user = user;
    return true;
}

static void cmd_auth(model_call *call)
{
    if (call->argc > 3) {
        model_reply_syntax_error(call);
        return;
    }
    if (call->argc == 2 && !model_acl_needs_password(call->server)) {
        model_reply_error(call,
                          "ERR AUTH <password> called without any password configured for the "
                          "default user. Are you sure your configuration is correct?");
        return;
    }
    model_text name = call->argc == 3 ? call->argv[1] : model_text_of("default");
    if (authenticate(call, name, call->argv[call->argc - 1]))
        model_reply_ok(call);
}

static void reply_hello(model_call *call)
{
    const model_server *server    = call->server;
    bool                is_valkey = server->version == MODEL_VALKEY_9;

    model_reply_map(call, server->services != NULL ? 6 : 7);
    model_reply_text(call, "server");
    model_reply_text(call, is_valkey ? "valkey" : "redis");
    model_reply_text(call, "version");
    model_reply_text(call, model_version_text(server->version));
    model_reply_text(call, "proto");
    model_reply_integer(call, call->resp);
    model_reply_text(call, "id");
    model_reply_integer(call, (int64_t)call->link->id);
    model_reply_text(call, "mode");
    model_reply_text(call, model_mode_text(server));
    if (server->services == NULL) {
        model_reply_text(call, "role");
        model_reply_text(call, model_is_replica(server) ? "replica" : "master");
    }
    model_reply_text(call, "modules");
    model_reply_array(call, 0);
}

/* The options are read first, and take effect only if all are right.  Arguments; 0: none. */
typedef struct hello {
    size_t auth_at;
    size_t name_at;
} hello;

static bool read_hello(model_call *call, hello *ret_hello)
{
    for (size_t i = 2; i < call->argc; i++) {
        if (model_arg_is(call, i, "AUTH") && i + 2 < call->argc) {
            ret_hello->auth_at = i + 1;
            i += 2;
        } else if (model_arg_is(call, i, "SETNAME") && i + 1 < call->argc) {
            ret_hello->name_at = ++i;
        } else {
            model_reply_error(call, "ERR Syntax error in HELLO option '%.*s'",
                              (int)call->argv[i].size, call->argv[i].at);
            return false;
        }
    }
    return true;
}

static void cmd_hello(model_call *call)
{
    model_link *link    = call->link;
    hello       options = { 0, 0 };
    int64_t     version = call->resp;

    if (call->argc > 1 &&
        !model_take_integer(call, 1, "Protocol version is not an integer or out of range",
                            &version))
        return;
    if (version < 2 || version > 3) {
        model_reply_error(call, "NOPROTO unsupported protocol version");
        return;
    }
    if (!read_hello(call, &options))
        return;
    if (options.auth_at != 0 &&
        !authenticate(call, call->argv[options.auth_at], call->argv[options.auth_at + 1]))
        return;
    if (link->user == NULL) {
        model_reply_error(
            call, "NOAUTH HELLO must be called with the client already authenticated, "
                  "otherwise the HELLO <proto> AUTH <user> <pass> option can be used to "
                  "authenticate the client and select the RESP protocol version at the same "
                  "time");
        return;
    }
    if (options.name_at != 0 && !model_client_set_name(call, call->argv[options.name_at]))
        return;
    link->resp = call->resp = (unsigned)version;
    reply_hello(call);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void cmd_ping(model_call *call)
{
    if (call->argc > 2) {
        model_reply_error(call, "ERR wrong number of arguments for 'ping' command");
    } else if (call->resp < 3 && model_subscriptions(call->link) != 0) {
        model_reply_array(call, 2);
        model_reply_text(call, "pong");
        model_reply_bulk(call, call->argc > 1 ? call->argv[1] : model_text_of(""));
    } else if (call->argc > 1) {
        model_reply_bulk(call, call->argv[1]);
    } else {
        model_reply_status(call, "PONG");
    }
}

static void cmd_echo(model_call *call)
{
    model_reply_bulk(call, call->argv[1]);
}

static void cmd_select(model_call *call)
{
    int64_t database;

    if (!model_take_integer(call, 1, NULL, &database))
        return;
    if (call->server->is_cluster && database != 0 && call->server->version != MODEL_VALKEY_9) {
        model_reply_error(call, "ERR SELECT is not allowed in cluster mode");
    } else if (database < 0 || database >= (call->server->is_cluster ? 1 : MODEL_DATABASES)) {
        model_reply_error(call, "ERR DB index is out of range");
    } else {
        *call->database = (unsigned)database;
        model_reply_ok(call);
    }
}

static void cmd_quit(model_call *call)
{
    model_reply_ok(call);
    model_link_end(call->link);
}

static void cmd_reset(model_call *call)
{
    model_link *link = call->link;

    model_link_clear(link);
    link->flags &= ~(unsigned)(LINK_ASKING | LINK_READONLY | LINK_REPLY_OFF | LINK_REPLY_SKIP |
                               LINK_SKIP_NEXT);
    link->database = 0;
    link->user     = model_acl_first_user(call->server);
    free(link->name);
    link->name = NULL;
    link->resp = call->resp = 2;
    model_reply_status(call, "RESET");
}

const model_command model_commands_connection[] = {
    { "ping", cmd_ping, -1, 0, 0, 0,
      CMD(SENTINEL) | CMD(FAST) | CMD(STALE) | CMD(IN_RESP2) | CAT(CONNECTION), NULL },
    { "echo", cmd_echo, 2, 0, 0, 0, CMD(FAST) | CMD(STALE) | CAT(CONNECTION), NULL },
    { "select", cmd_select, 2, 0, 0, 0, CMD(FAST) | CMD(STALE) | CAT(CONNECTION), NULL },
    { "auth", cmd_auth, -2, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(FAST) | CMD(NOAUTH) | CMD(STALE) | CAT(CONNECTION),
      NULL },
    { "hello", cmd_hello, -1, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(FAST) | CMD(NOAUTH) | CMD(STALE) | CAT(CONNECTION),
      NULL },
    { "quit", cmd_quit, -1, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(FAST) | CMD(NOAUTH) | CMD(STALE) | CMD(NOQUEUE) |
          CMD(IN_RESP2) | CAT(CONNECTION),
      NULL },
    { "reset", cmd_reset, 1, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(FAST) | CMD(NOAUTH) | CMD(STALE) | CMD(NOQUEUE) |
          CMD(IN_RESP2) | CAT(CONNECTION),
      NULL },
    { .name = NULL },
};
