/*
 * dispatch.c -- see dispatch.h.  The order of checks is that of processCommand in Redis, because it
 * decides which of several errors a client sees.
 */
#include "sim/redis/core/dispatch.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/cluster.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/effects.h"
#include "sim/redis/core/eviction.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/pubsub.h"
#include "sim/redis/core/replication.h"
#include "sim/redis/core/tracking.h"
#include "sim/redis/core/watch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX = 32, SHOWN_MAX = 128 };

/* ---- running --------------------------------------------------------------------------------- */

/* Before Valkey, a command of a script that reads makes the keys of EVAL tracked ones. */
static void track_keys(const model_call *call)
{
    size_t first;
    size_t last;
    size_t step;

    if (call->outer != NULL && call->server->version != MODEL_VALKEY_9)
        call = call->outer;
    if (model_command_keys(call->command, call->argv, call->argc, &first, &last, &step))
        for (size_t i = first; i <= last; i += step)
            model_track(call->link, call->argv[i]);
}

static bool is_tracked(unsigned flags)
{
    return (flags & LINK_TRACKS) != 0 && (flags & (LINK_OPTS_IN | LINK_CACHES)) != LINK_OPTS_IN;
}

void model_run(model_call *call)
{
    model_server *server   = call->server;
    unsigned      database = *call->database;

    server->commands_run++;
    call->command->run(call);
    if (call->changes != 0 || call->is_forced) {
        if (call->has_effect)
            model_effects_add_own(server, database);
        else
            model_effects_add(server, database, call->argv, call->argc);
    }
    if (is_tracked(call->link->flags) && (call->command->flags & MODEL_CMD_READ) != 0)
        track_keys(call);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void refuse_unknown(model_call *call)
{
    bool        is_old = call->server->version == MODEL_REDIS_6_2;
    const char *quote  = is_old ? "`" : "'";
    model_bytes shown  = { .size = 0 };
    model_text  name   = call->argv[0];

    for (size_t i = 1; i < call->argc && shown.size < SHOWN_MAX; i++) {
        size_t room = SHOWN_MAX - shown.size;
        size_t size = call->argv[i].size < room ? call->argv[i].size : room;
        model_bytes_add_text(&shown, quote);
        model_bytes_add(&shown, call->argv[i].at, strnlen(call->argv[i].at, size));
        model_bytes_add_text(&shown, quote);
        model_bytes_add_text(&shown, is_old ? ", " : " ");
    }
    model_reply_error(call, "ERR unknown command %s%.*s%s, with args beginning with: %.*s", quote,
                      (int)(name.size < SHOWN_MAX ? name.size : SHOWN_MAX), name.at, quote,
                      (int)shown.size, shown.size != 0 ? shown.at : "");
    model_bytes_free(&shown);
}

static void lower_name(const model_call *call, char ret_name[2 * NAME_MAX])
{
    size_t size = strlen(call->command->name);
    size_t sub  = 0;

    memcpy(ret_name, call->command->name, size);
    if ((call->command->flags & MODEL_CMD_SUB) != 0 && call->argc > 1 &&
        call->argv[1].size < NAME_MAX - 1 && call->server->version != MODEL_REDIS_6_2) {
        ret_name[size++] = '|';
        for (; sub < call->argv[1].size; sub++)
            ret_name[size + sub] = (char)tolower((unsigned char)call->argv[1].at[sub]);
    }
    ret_name[size + sub] = '\0';
}

static void refuse_by_acl(model_call *call, model_acl_answer answer)
{
    char name[2 * NAME_MAX];
    bool is_new = call->server->version == MODEL_VALKEY_9;

    lower_name(call, name);
    if (answer == MODEL_ACL_NOT_COMMAND && is_new)
        model_reply_error(call, "NOPERM User %s has no permissions to run the '%s' command",
                          model_acl_name(call->link->user), name);
    else if (answer == MODEL_ACL_NOT_COMMAND)
        model_reply_error(call, "NOPERM this user has no permissions to run the '%s' command%s",
                          name,
                          call->server->version == MODEL_REDIS_6_2 ? " or its subcommand" : "");
    else if (is_new)
        model_reply_error(call, "NOPERM No permissions to access a %s",
                          answer == MODEL_ACL_NOT_KEY ? "key" : "channel");
    else
        model_reply_error(call,
                          "NOPERM this user has no permissions to access one of the %ss used as "
                          "arguments",
                          answer == MODEL_ACL_NOT_KEY ? "key" : "channel");
}

/* Whether the user of the link may run the command.  False: refused. */
static bool may_ask(model_call *call)
{
    const model_command *command = call->command;
    model_link          *link    = call->link;

    if (link->user == NULL && (command->flags & MODEL_CMD_NOAUTH) == 0) {
        model_reply_error(call, "NOAUTH Authentication required.");
        return false;
    }
    if (link->transaction.is_open && call->server->version == MODEL_VALKEY_9 &&
        ((command->flags & MODEL_CMD_NOMULTI) != 0 ||
         (strcmp(command->name, "client") == 0 && model_arg_is(call, 1, "reply")))) {
        char name[2 * NAME_MAX];
        lower_name(call, name);
        model_reply_error(call, "ERR Command '%s' not allowed inside a transaction", name);
        return false;
    }
    model_acl_answer answer = model_acl_check(link->user, command, call->argv, call->argc);
    if (answer != MODEL_ACL_YES) {
        refuse_by_acl(call, answer);
        return false;
    }
    return true;
}

static bool is_routed_here(model_call *call)
{
    unsigned slot;
    int      node;

    if (!call->server->is_cluster)
        return true;
    model_route route = model_cluster_route(call, &slot, &node);
    if (route == MODEL_ROUTE_HERE)
        return true;
    model_cluster_refuse(call, route, slot, node);
    return false;
}

/* Before Valkey, a transaction of a full server accepts no other command. */
static bool ends_transaction(const model_command *command)
{
    static const char *const names[] = { "exec", "discard", "quit", "reset" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(command->name, names[i]) == 0)
            return true;
    return false;
}

/* What the state of the server forbids.  False: refused. */
static bool can_serve(model_call *call)
{
    model_server        *server      = call->server;
    const model_command *command     = call->command;
    model_transaction   *transaction = &call->link->transaction;
    bool                 is_exec     = transaction->is_open && model_text_is(call->argv[0], "exec");
    bool                 queues =
        transaction->is_open && server->version != MODEL_VALKEY_9 && !ends_transaction(command);
    unsigned flags      = command->flags | (is_exec ? transaction->flags : 0);
    bool     writes     = (flags & MODEL_CMD_WRITE) != 0;
    bool     is_replica = model_is_replica(server);

    if (!is_routed_here(call))
        return false;
    if (server->config->memory_max != 0 && model_is_out_of_memory(server) &&
        ((flags & MODEL_CMD_DENYOOM) != 0 || queues)) {
        model_reply_error(call, "OOM command not allowed when used memory > 'maxmemory'.");
        return false;
    }
    if (!is_replica && writes && !model_has_good_replicas(server)) {
        model_reply_error(call, "NOREPLICAS Not enough good replicas to write.");
        return false;
    }
    if (is_replica && writes) {
        model_reply_error(call, "READONLY You can't write against a read only replica.");
        return false;
    }
    if (call->resp < 3 && model_subscriptions(call->link) != 0 &&
        (flags & MODEL_CMD_IN_RESP2) == 0) {
        const char *kinds = server->version == MODEL_REDIS_6_2 ? "P" : "P|S";
        char        name[2 * NAME_MAX];
        lower_name(call, name);
        model_reply_error(call,
                          "ERR Can't execute '%s': only (%s)SUBSCRIBE / (%s)UNSUBSCRIBE / PING / "
                          "QUIT / RESET are allowed in this context",
                          name, kinds, kinds);
        return false;
    }
    if (is_replica && !server->replication->is_up && !server->config->serves_stale_data &&
        (command->flags & MODEL_CMD_STALE) == 0) {
        model_reply_error(call, "MASTERDOWN Link with MASTER is down and replica-serve-stale-data "
                                "is set to 'no'.");
        return false;
    }
    return true;
}

static bool is_accepted(model_call *call)
{
    if (call->command == NULL) {
        refuse_unknown(call);
        return false;
    }
    if (!model_command_accepts(call->command, call->argc)) {
        char name[2 * NAME_MAX];
        lower_name(call, name);
        model_reply_error(call, "ERR wrong number of arguments for '%s' command", name);
        return false;
    }
    if (!model_sub_exists(call) || !may_ask(call))
        return false;
    /* Valkey does not look at a transaction that has failed already. */
    return (call->server->version == MODEL_VALKEY_9 && call->link->transaction.has_failed &&
            strcmp(call->command->name, "exec") == 0) ||
           can_serve(call);
}

/* ---- a command of a link --------------------------------------------------------------------- */

static void carry_out(model_call *call)
{
    model_link *link = call->link;

    if (link->transaction.is_open && (call->command->flags & MODEL_CMD_NOQUEUE) == 0) {
        model_transaction_queue(&link->transaction, call->command, call->argv, call->argc);
        model_reply_status(call, "QUEUED");
        return;
    }
    link->flags |= LINK_IS_RUNNING;
    model_run(call);
    model_effects_end(call->server);
    link->flags &= ~(unsigned)LINK_IS_RUNNING;
    link->written = model_server_offset(call->server);
}

/* CLIENT REPLY; and the pushes that the command caused and that follow its reply. */
static void deliver(model_link *link, model_bytes *out, size_t before)
{
    bool is_silent = (link->flags & (LINK_REPLY_OFF | LINK_REPLY_SKIP)) != 0;

    if (is_silent)
        out->size = before;
    link->flags &= ~(unsigned)LINK_REPLY_SKIP;
    if ((link->flags & LINK_SKIP_NEXT) != 0)
        link->flags = (link->flags & ~(unsigned)LINK_SKIP_NEXT) | LINK_REPLY_SKIP;
    model_output_end_reply(link);
}

/* What refuses EXEC itself ends the transaction; a redirect keeps its words. */
static void abort_exec(model_link *link, model_bytes *out, size_t before)
{
    static const char *const redirects[] = { "-MOVED ", "-ASK ", "-CROSSSLOT ", "-TRYAGAIN ",
                                             "-CLUSTERDOWN " };
    model_text               error       = { out->at + before, out->size - before };

    model_transaction_clear(&link->transaction);
    model_unwatch(link);
    for (size_t i = 0; i < sizeof redirects / sizeof *redirects; i++)
        if (strncmp(error.at, redirects[i], strlen(redirects[i])) == 0)
            return;
    size_t skipped = strncmp(error.at, "-ERR ", 5) == 0 ? 5 : 1;
    char  *why     = model_text_copy((model_text){ error.at + skipped, error.size - skipped });
    out->size      = before;
    model_bytes_print(out, "-EXECABORT Transaction discarded because of: %s", why);
    free(why);
}

void model_execute(model_link *link, const model_text *argv, size_t argc)
{
    model_server *server = link->server;
    model_bytes  *out    = model_link_output(link);
    size_t        before = out->size;
    model_call    call   = {
             .server   = server,
             .link     = link,
             .command  = model_command_find(server, argv[0]),
             .argv     = argv,
             .argc     = argc,
             .out      = out,
             .database = &link->database,
             .resp     = link->resp,
             .origin   = MODEL_FROM_LINK,
    };

    if (is_accepted(&call))
        carry_out(&call);
    else if (call.command != NULL && model_text_is(argv[0], "exec"))
        abort_exec(link, out, before);
    else if (link->transaction.is_open)
        link->transaction.has_failed = true;
    model_effects_end(server);
    if (!link->transaction.is_open && !model_text_is(argv[0], "asking"))
        link->flags &= ~(unsigned)LINK_ASKING;
    if (!link->transaction.is_open && !model_text_is(argv[0], "client"))
        link->flags &= ~(unsigned)LINK_CACHES;
    deliver(link, out, before);
}
