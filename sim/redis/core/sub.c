/*
 * sub.c -- commands with subcommands: CLIENT, CONFIG, SCRIPT and others.
 *
 * Redis 7.0 looks up the subcommand together with the command, so MULTI refuses an unknown one;
 * Redis 6.2 finds it when the command runs.
 */
#include "sim/redis/core/inside.h"

#include <ctype.h>

enum { UPPER_MAX = 24, SHOWN_MAX = 128 };

static void refuse(model_call *call, const char *why)
{
    char       upper[UPPER_MAX];
    model_text name = call->argv[1];
    size_t     i    = 0;

    for (; call->command->name[i] != '\0' && i + 1 < sizeof upper; i++)
        upper[i] = (char)toupper((unsigned char)call->command->name[i]);
    upper[i] = '\0';
    model_reply_error(call, "ERR %s '%.*s'. Try %s HELP.", why,
                      (int)(name.size < SHOWN_MAX ? name.size : SHOWN_MAX), name.at, upper);
}

/* NULL: an error was replied. */
static const model_sub *find(model_call *call)
{
    static const char old[]   = "Unknown subcommand or wrong number of arguments for";
    model_version     version = call->server->version;

    for (const model_sub *sub = call->command->subs; sub->name != NULL; sub++) {
        bool is_right =
            sub->arity >= 0 ? call->argc == (size_t)sub->arity : call->argc >= (size_t)-sub->arity;
        if (!model_arg_is(call, 1, sub->name) || (sub->is_new && version == MODEL_REDIS_6_2) ||
            (sub->is_of_valkey && version != MODEL_VALKEY_9))
            continue;
        if (is_right)
            return sub;
        if (version == MODEL_REDIS_6_2)
            refuse(call, old);
        else
            model_reply_error(call, "ERR wrong number of arguments for '%s|%s' command",
                              call->command->name, sub->name);
        return NULL;
    }
    refuse(call, version == MODEL_REDIS_6_2 ? old : "unknown subcommand");
    return NULL;
}

bool model_sub_exists(model_call *call)
{
    return call->command->subs == NULL || call->server->version == MODEL_REDIS_6_2 ||
           call->argc < 2 || find(call) != NULL;
}

void model_run_sub(model_call *call)
{
    const model_sub *sub = find(call);

    if (sub != NULL)
        sub->run(call);
}
