/*
 * command.c -- see command.h.
 *
 * Redis 7.0 looks up the subcommand together with the command, so MULTI refuses an unknown one;
 * Redis 6.2 finds it when the command runs.
 */
#include "sim/redis/core/command.h"
#include "sim/redis/core/call.h"

#include <ctype.h>

enum { NAME_MAX = 32, UPPER_MAX = 24, SHOWN_MAX = 128 };

/* The tables are const; the values of a model_table are not. */
void model_commands_begin(model_server *server)
{
    bool is_new;

    for (size_t i = 0; model_command_tables[i] != NULL; i++)
        for (const model_command *command = model_command_tables[i]; command->name != NULL;
             command++)
            *model_table_add(&server->commands, model_text_of(command->name), &is_new) =
                (void *)(uintptr_t)command;
}

void model_commands_end(model_server *server)
{
    model_table_clear(&server->commands, NULL);
}

const model_command *model_command_find(const model_server *server, model_text name)
{
    char lower[NAME_MAX];

    if (name.size >= sizeof lower)
        return NULL;
    for (size_t i = 0; i < name.size; i++)
        lower[i] = (char)tolower((unsigned char)name.at[i]);
    void **found = model_table_find(&server->commands, (model_text){ lower, name.size });
    if (found == NULL)
        return NULL;
    const model_command *command     = *found;
    unsigned             of_sentinel = command->flags & MODEL_CMD_OF_SENTINEL;
    bool                 is_there    = of_sentinel == 0;

    if (server->services != NULL)
        is_there = of_sentinel != 0 || (command->flags & MODEL_CMD_SENTINEL) != 0;
    if ((command->flags & MODEL_CMD_SINCE_7) != 0 && server->version == MODEL_REDIS_6_2)
        is_there = false;
    return is_there ? command : NULL;
}

bool model_command_accepts(const model_command *command, size_t argc)
{
    return command->arity >= 0 ? argc == (size_t)command->arity : argc >= (size_t)-command->arity;
}

bool model_command_keys(const model_command *command, const model_text *argv, size_t argc,
                        size_t *ret_first, size_t *ret_last, size_t *ret_step)
{
    if ((command->flags & MODEL_CMD_NUMKEYS) != 0) {
        int64_t keys;
        if (argc < 3 || !model_text_integer(argv[2], &keys) || keys < 1 || keys > (int64_t)argc - 3)
            return false;
        *ret_first = 3;
        *ret_last  = 2 + (size_t)keys;
        *ret_step  = 1;
        return true;
    }
    if (command->first == 0 || argc <= (size_t)command->first)
        return false;
    *ret_first = (size_t)command->first;
    *ret_last  = command->last < 0 ? argc - (size_t)-command->last : (size_t)command->last;
    *ret_step  = (size_t)command->step;
    return *ret_last < argc;
}

/* ---- subcommands ----------------------------------------------------------------------------- */

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
