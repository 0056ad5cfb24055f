/*
 * acl_command.c -- ACL.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/acl.h"

static void acl_whoami(model_call *call)
{
    model_reply_text(call, call->link->user != NULL ? model_acl_name(call->link->user) : "default");
}

static void acl_setuser(model_call *call)
{
    size_t      nth = 0;
    const char *why =
        model_acl_set(call->server, call->argv[2], call->argv + 3, call->argc - 3, &nth);

    if (why == NULL)
        model_reply_ok(call);
    else
        model_reply_error(call, "ERR Error in ACL SETUSER modifier '%.*s': %s",
                          (int)call->argv[3 + nth].size, call->argv[3 + nth].at, why);
}

static void acl_getuser(model_call *call)
{
    const model_user *user = model_acl_find(call->server, call->argv[2]);

    if (user == NULL)
        model_reply_null(call);
    else
        model_acl_show(call, user);
}

static void acl_deluser(model_call *call)
{
    int64_t count = 0;

    for (size_t i = 2; i < call->argc; i++) {
        if (model_arg_is(call, i, "default")) {
            model_reply_error(call, "ERR The 'default' user cannot be removed");
            return;
        }
        count += model_acl_delete(call->server, call->argv[i]);
    }
    model_reply_integer(call, count);
}

static void acl_users(model_call *call)
{
    const model_table *users = model_acl_users(call->server);
    size_t             at    = 0;
    model_entry       *entry;

    model_reply_array(call, users->count);
    while ((entry = model_table_next(users, &at)) != NULL)
        model_reply_bulk(call, (model_text){ entry->key, entry->size });
}

/* Nothing is recorded. */
static void acl_log(model_call *call)
{
    if (model_arg_is(call, 2, "RESET"))
        model_reply_ok(call);
    else
        model_reply_array(call, 0);
}

static const model_sub subs_acl[] = {
    { "whoami", 2, acl_whoami, false, false },
    { "setuser", -3, acl_setuser, false, false },
    { "getuser", 3, acl_getuser, false, false },
    { "deluser", -3, acl_deluser, false, false },
    { "users", 2, acl_users, false, false },
    { "log", -2, acl_log, false, false },
    { .name = NULL },
};

const model_command model_commands_acl[] = {
    { "acl", model_run_sub, -2, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(SUB) | CMD(STALE) | CAT(ADMIN) | CAT(DANGEROUS),
      subs_acl },
    { .name = NULL },
};
