/*
 * command.h -- each command of a server: its arity, where its keys are, its flags and its
 * categories, as in Redis.
 */
#pragma once

#include "sim/redis/data/bytes.h"
#include "sim/redis/server.h"

typedef struct model_call model_call; /* call.h */

enum {
    MODEL_CMD_WRITE    = 1u << 0,
    MODEL_CMD_READ     = 1u << 1,
    MODEL_CMD_DENYOOM  = 1u << 2,
    MODEL_CMD_FAST     = 1u << 3,
    MODEL_CMD_NOSCRIPT = 1u << 4,
    MODEL_CMD_NOAUTH   = 1u << 5, /* also before AUTH */
    MODEL_CMD_NOMULTI  = 1u << 6, /* Valkey refuses it inside MULTI */
    MODEL_CMD_NOQUEUE  = 1u << 7, /* MULTI does not queue it */
    MODEL_CMD_STALE    = 1u << 8,
    MODEL_CMD_SUB      = 1u << 9,  /* has subcommands */
    MODEL_CMD_NUMKEYS  = 1u << 10, /* the keys begin behind their number: EVAL */
    MODEL_CMD_CHANNELS = 1u << 11, /* first to last are channels */
    MODEL_CMD_PATTERNS = 1u << 12, /* and these are patterns */
    MODEL_CMD_SINCE_7  = 1u << 13, /* not in Redis 6.2 */
    MODEL_CMD_IN_RESP2 = 1u << 14, /* also while a link of RESP2 has subscriptions */
    MODEL_CMD_BLOCKS   = 1u << 15,
    /* Categories of the ACL, beside those that follow from the flags above. */
    MODEL_CAT_KEYSPACE    = 1u << 16,
    MODEL_CAT_STRING      = 1u << 17,
    MODEL_CAT_HASH        = 1u << 18,
    MODEL_CAT_LIST        = 1u << 19,
    MODEL_CAT_SET         = 1u << 20,
    MODEL_CAT_SORTEDSET   = 1u << 21,
    MODEL_CAT_PUBSUB      = 1u << 22,
    MODEL_CAT_CONNECTION  = 1u << 23,
    MODEL_CAT_TRANSACTION = 1u << 24,
    MODEL_CAT_SCRIPTING   = 1u << 25,
    MODEL_CAT_ADMIN       = 1u << 26,
    MODEL_CAT_DANGEROUS   = 1u << 27,
    MODEL_CMD_SHARDED     = 1u << 28, /* channels belong to slots */
    MODEL_CMD_SENTINEL    = 1u << 29, /* a sentinel has it too */
    MODEL_CMD_OF_SENTINEL = 1u << 30, /* and no other server */
};

typedef struct model_sub {
    const char *name;
    int         arity; /* with both names; negative: at least */
    void (*run)(model_call *call);
    bool is_new; /* not in Redis 6.2 */
    bool is_of_valkey;
} model_sub;

typedef struct model_command {
    const char *name;
    void (*run)(model_call *call);
    int              arity; /* with the name; negative: at least */
    int              first; /* key or channel; 0: none */
    int              last;  /* negative: from the end */
    int              step;
    unsigned         flags;
    const model_sub *subs; /* the last one has no name; NULL: no subcommands */
} model_command;

/* For the rows of a table. */
#define CMD(flag) (unsigned)MODEL_CMD_##flag
#define CAT(name) (unsigned)MODEL_CAT_##name

/* command/table.c.  NULL ends the list; a command without a name ends each table. */
extern const model_command *const model_command_tables[];

void model_commands_begin(model_server *server);
void model_commands_end(model_server *server);
/* NULL: a server of this version and role does not have it. */
const model_command *model_command_find(const model_server *server, model_text name);
bool                 model_command_accepts(const model_command *command, size_t argc);
/* The keys or channels of a command: from argv[*ret_first] on; false: none. */
bool model_command_keys(const model_command *command, const model_text *argv, size_t argc,
                        size_t *ret_first, size_t *ret_last, size_t *ret_step);
bool model_sub_exists(model_call *call); /* false: an error was replied */
void model_run_sub(model_call *call);
