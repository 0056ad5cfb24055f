/*
 * script.h -- Lua scripts, run by the real Lua 5.1 with the functions of Redis.
 *
 * Unlike in Redis, the tables of the libraries can be changed by a script, and a script that runs
 * for 100 million instructions ends with an error.
 */
#pragma once

#include "sim/redis/core/command.h"
#include "sim/redis/data/hash.h"

typedef struct model_lua model_lua;

model_lua *model_lua_new(model_server *server);
void       model_lua_free(model_lua *lua);

/* Compiles a script; false: an error was replied.  SHA-1 in 40 lower-case digits. */
bool   model_script_load(model_call *call, model_text text, char ret_sha1[MODEL_SHA1_TEXT + 1]);
bool   model_script_knows(const model_server *server, model_text sha1);
void   model_script_flush(model_server *server);
size_t model_script_count(const model_server *server);
/* The script is known.  argv[3] on: the keys, then the arguments. */
void model_script_run(model_call *call, model_text sha1, size_t keys);
