/*
 * transactions.c -- MULTI, EXEC, WATCH.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/dispatch.h"
#include "sim/redis/core/watch.h"

static void cmd_multi(model_call *call)
{
    if (call->link->transaction.is_open) {
        model_reply_error(call, "ERR MULTI calls can not be nested");
        return;
    }
    call->link->transaction.is_open = true;
    model_reply_ok(call);
}

static void cmd_discard(model_call *call)
{
    if (!call->link->transaction.is_open) {
        model_reply_error(call, "ERR DISCARD without MULTI");
        return;
    }
    model_transaction_clear(&call->link->transaction);
    model_unwatch(call->link);
    model_reply_ok(call);
}

static void cmd_watch(model_call *call)
{
    if (call->link->transaction.is_open) {
        model_reply_error(call, "ERR WATCH inside MULTI is not allowed");
        return;
    }
    for (size_t i = 1; i < call->argc; i++)
        model_watch(call->link, call->argv[i]);
    model_reply_ok(call);
}

static void cmd_unwatch(model_call *call)
{
    model_unwatch(call->link);
    model_reply_ok(call);
}

/* The user may have lost a permission since. */
static bool is_allowed(model_call *call)
{
    const char *why = NULL;

    switch (model_acl_check(call->link->user, call->command, call->argv, call->argc)) {
    case MODEL_ACL_YES: return true;
    case MODEL_ACL_NOT_COMMAND: why = "execute the command or subcommand"; break;
    case MODEL_ACL_NOT_KEY: why = "touch the specified keys"; break;
    case MODEL_ACL_NOT_CHANNEL:
        why = "access one of the channels used as arguments to the command";
        break;
    }
    model_reply_error(
        call,
        "NOPERM ACLs rules changed between the moment the transaction was accumulated "
        "and the EXEC call. This command is no longer allowed for the following "
        "reason: no permission to %s",
        why);
    return false;
}

/* It takes the queue away from the link: a command may end the transaction of the link. */
static void run_queue(model_call *exec, const model_transaction *queue)
{
    model_reply_array(exec, queue->count);
    for (size_t i = 0; i < queue->count; i++) {
        model_call call = {
            .server   = exec->server,
            .link     = exec->link,
            .command  = queue->commands[i].command,
            .argv     = queue->commands[i].argv,
            .argc     = queue->commands[i].argc,
            .out      = exec->out,
            .database = exec->database,
            .resp     = exec->link->resp,
            .origin   = exec->origin == MODEL_FROM_PRIMARY ? MODEL_FROM_PRIMARY : MODEL_FROM_EXEC,
        };
        if (is_allowed(&call))
            model_run(&call);
    }
}

static void cmd_exec(model_call *call)
{
    model_link *link = call->link;

    if (!link->transaction.is_open) {
        model_reply_error(call, "ERR EXEC without MULTI");
        return;
    }
    bool has_failed = link->transaction.has_failed;
    bool is_broken  = model_watch_has_failed(link);
    if (has_failed || is_broken) {
        if (has_failed)
            model_reply_error(call, "EXECABORT Transaction discarded because of previous errors.");
        else
            model_reply_null_array(call);
        model_transaction_clear(&link->transaction);
        model_unwatch(link);
        return;
    }
    model_transaction queue = link->transaction;
    model_unwatch(link);
    link->transaction = (model_transaction){ .count = 0 };
    run_queue(call, &queue);
    model_transaction_clear(&queue);
    model_transaction_free(&link->transaction);
    link->transaction = queue;
}

const model_command model_commands_transactions[] = {
    { "multi", cmd_multi, 1, 0, 0, 0,
      CMD(FAST) | CMD(NOSCRIPT) | CMD(NOQUEUE) | CMD(NOMULTI) | CMD(STALE) | CAT(TRANSACTION),
      NULL },
    { "exec", cmd_exec, 1, 0, 0, 0, CMD(NOSCRIPT) | CMD(NOQUEUE) | CMD(STALE) | CAT(TRANSACTION),
      NULL },
    { "discard", cmd_discard, 1, 0, 0, 0,
      CMD(FAST) | CMD(NOSCRIPT) | CMD(NOQUEUE) | CMD(STALE) | CAT(TRANSACTION), NULL },
    { "watch", cmd_watch, -2, 1, -1, 1,
      CMD(FAST) | CMD(NOSCRIPT) | CMD(NOQUEUE) | CMD(NOMULTI) | CMD(STALE) | CAT(TRANSACTION),
      NULL },
    { "unwatch", cmd_unwatch, 1, 0, 0, 0, CMD(FAST) | CMD(NOSCRIPT) | CMD(STALE) | CAT(TRANSACTION),
      NULL },
    { .name = NULL },
};
