/*
 * lua_state.h -- the Lua state of a server, for the files of script/.
 *
 * script.c has the state, the cache of functions and the run; script_api.c what a script can call;
 * script_values.c the conversions; struct_pack.c the library struct.
 */
#pragma once

#include "sim/redis/core/call.h"
#include "sim/redis/script/script.h"

#include <lua5.1/lua.h>

struct model_lua {
    lua_State  *state;
    model_table functions; /* of model_script, by SHA-1 */
    int         globals;   /* references in the registry */
    model_call *call;      /* EVAL, while a script runs */
    model_bytes reply;     /* of the command that it calls */
    model_bytes problem;   /* the text of an error */
    model_bytes numbers;   /* arguments that were numbers */
    model_text *argv;
    size_t      argv_room;
    char        sha1[MODEL_SHA1_TEXT + 1];
    uint64_t    random;
    uint64_t    instructions;
    unsigned    database; /* that the script has selected */
    unsigned    resp;
    bool        was_out_of_memory;
    bool        has_written;
};

/* script_api.c.  The functions of the library redis, and math.random. */
void model_script_add_api(model_lua *lua, model_server *server);
/* Pushes a table with the error. */
void model_script_push_error(model_lua *lua, const char *text);

/* script_values.c */
void model_script_push_reply(lua_State *state, model_text reply);
void model_script_reply(model_call *call, lua_State *state); /* pops the value */

/* struct_pack.c */
void model_script_add_struct(lua_State *state);
