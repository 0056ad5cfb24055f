/*
 * script.c -- see script.h.
 *
 * The globals of a script are an empty table in front of the real one: reading a name that does not
 * exist, and setting any, is an error.
 */
#include "sim/redis/script/script.h"
#include "sim/redis/core/eviction.h"
#include "sim/redis/script/lua_state.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>
#include <stdlib.h>
#include <string.h>

enum { HOOK_EVERY = 1000000, INSTRUCTIONS_MAX = 100000000 };

#define CHUNK "@user_script"

typedef struct model_script {
    int reference;
} model_script;

/* ---- the state ------------------------------------------------------------------------------- */

static int refuse_missing(lua_State *state)
{
    return luaL_error(state, "Script attempted to access nonexistent global variable '%s'",
                      lua_tostring(state, 2));
}

static int refuse_setting(lua_State *state)
{
    return luaL_error(state, "Attempt to modify a readonly table");
}

static void open_libraries(lua_State *state)
{
    static const struct {
        const char *name;
        int (*open)(lua_State *state);
    } libraries[] = {
        { "", luaopen_base },
        { LUA_TABLIBNAME, luaopen_table },
        { LUA_STRLIBNAME, luaopen_string },
        { LUA_MATHLIBNAME, luaopen_math },
    };
    static const char *const removed[] = { "dofile", "loadfile", "print", "newproxy", "load" };

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        lua_pushcfunction(state, libraries[i].open);
        lua_pushstring(state, libraries[i].name);
        lua_call(state, 1, 0);
    }
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        lua_pushnil(state);
        lua_setglobal(state, removed[i]);
    }
}

/* globals -> refuse_missing; the proxy -> globals, refuse_setting. */
static void protect_globals(model_lua *lua)
{
    lua_State *state = lua->state;

    lua_pushvalue(state, LUA_GLOBALSINDEX);
    lua_newtable(state);
    lua_pushcfunction(state, refuse_missing);
    lua_setfield(state, -2, "__index");
    lua_setmetatable(state, -2);
    lua->globals = luaL_ref(state, LUA_REGISTRYINDEX);

    lua_newtable(state);
    lua_newtable(state);
    lua_rawgeti(state, LUA_REGISTRYINDEX, lua->globals);
    lua_setfield(state, -2, "__index");
    lua_pushcfunction(state, refuse_setting);
    lua_setfield(state, -2, "__newindex");
    lua_setmetatable(state, -2);
    lua_rawgeti(state, LUA_REGISTRYINDEX, lua->globals);
    lua_pushvalue(state, -2);
    lua_setfield(state, -2, "_G");
    lua_pop(state, 1);
    lua_replace(state, LUA_GLOBALSINDEX);
}

/* The state's own pointer would be the obvious place; Lua 5.1 has none. */
static int count_instructions(lua_State *state, model_lua *lua)
{
    lua->instructions += HOOK_EVERY;
    if (lua->instructions >= INSTRUCTIONS_MAX)
        return luaL_error(state, "Script killed: it ran for too many instructions");
    return 0;
}

static void hook(lua_State *state, lua_Debug *activation)
{
    (void)activation;
    lua_getfield(state, LUA_REGISTRYINDEX, "model_lua");
    model_lua *lua = lua_touserdata(state, -1);
    lua_pop(state, 1);
    (void)count_instructions(state, lua);
}

model_lua *model_lua_new(model_server *server)
{
    model_lua *lua = model_allocate(sizeof *lua);

    *lua = (model_lua){ .state = luaL_newstate() };
    if (lua->state == NULL)
        abort();
    open_libraries(lua->state);
    model_script_add_struct(lua->state);
    model_script_add_api(lua, server);
    protect_globals(lua);
    lua_pushlightuserdata(lua->state, lua);
    lua_setfield(lua->state, LUA_REGISTRYINDEX, "model_lua");
    lua_sethook(lua->state, hook, LUA_MASKCOUNT, HOOK_EVERY);
    return lua;
}

void model_lua_free(model_lua *lua)
{
    if (lua == NULL)
        return;
    lua_close(lua->state);
    model_table_clear(&lua->functions, free);
    model_bytes_free(&lua->reply);
    model_bytes_free(&lua->numbers);
    model_bytes_free(&lua->problem);
    free(lua->argv);
    free(lua);
}

/* ---- the cache ------------------------------------------------------------------------------- */

bool model_script_knows(const model_server *server, model_text sha1)
{
    return model_table_find(&server->lua->functions, sha1) != NULL;
}

size_t model_script_count(const model_server *server)
{
    return server->lua->functions.count;
}

void model_script_flush(model_server *server)
{
    model_lua   *lua = server->lua;
    size_t       at  = 0;
    model_entry *entry;

    while ((entry = model_table_next(&lua->functions, &at)) != NULL)
        luaL_unref(lua->state, LUA_REGISTRYINDEX, ((model_script *)entry->value)->reference);
    model_table_clear(&lua->functions, free);
}

bool model_script_load(model_call *call, model_text text, char ret_sha1[MODEL_SHA1_TEXT + 1])
{
    model_lua *lua = call->server->lua;
    bool       is_new;

    model_sha1(ret_sha1, text);
    if (model_script_knows(call->server, model_text_of(ret_sha1)))
        return true;
    if (text.size != 0 && text.at[0] == LUA_SIGNATURE[0]) { /* compiled Lua could do anything */
        model_reply_error(call, "ERR Error compiling script (new function): binary chunk");
        return false;
    }
    if (luaL_loadbuffer(lua->state, text.at, text.size, CHUNK) != 0) {
        model_reply_error(call, "ERR Error compiling script (new function): %s",
                          lua_tostring(lua->state, -1));
        lua_pop(lua->state, 1);
        return false;
    }
    model_script *script = model_allocate(sizeof *script);
    script->reference    = luaL_ref(lua->state, LUA_REGISTRYINDEX);
    *model_table_add(&lua->functions, model_text_of(ret_sha1), &is_new) = script;
    return true;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Where the error was: the innermost function that is not C.  The stack has the error. */
static int handle_error(lua_State *state)
{
    const model_server *server = lua_touserdata(state, lua_upvalueindex(1));
    lua_Debug           place;
    bool has_place = lua_getstack(state, 1, &place) != 0 && lua_getinfo(state, "Sl", &place) != 0;

    if (has_place && strcmp(place.what, "C") == 0)
        has_place = lua_getstack(state, 2, &place) != 0 && lua_getinfo(state, "Sl", &place) != 0;
    if (server->version == MODEL_REDIS_6_2) {
        if (has_place && lua_isstring(state, 1))
            lua_pushfstring(state, "%s:%d: %s", place.source, place.currentline,
                            lua_tostring(state, 1));
        return 1;
    }
    if (!lua_istable(state, 1)) {
        lua_newtable(state);
        lua_pushfstring(state, "ERR %s",
                        lua_isstring(state, 1) ? lua_tostring(state, 1) : luaL_typename(state, 1));
        lua_setfield(state, -2, "err");
        lua_replace(state, 1);
    }
    if (has_place) {
        lua_pushstring(state, place.source);
        lua_setfield(state, 1, "source");
        lua_pushinteger(state, place.currentline);
        lua_setfield(state, 1, "line");
    }
    lua_settop(state, 1);
    return 1;
}

static void reply_failure(model_call *call)
{
    model_lua *lua   = call->server->lua;
    lua_State *state = lua->state;

    if (!lua_istable(state, -1)) {
        const char *text = lua_isstring(state, -1) ? lua_tostring(state, -1) : "execution failure";
        size_t      size = strlen(text);
        while (size > 0 && (text[size - 1] == '\r' || text[size - 1] == '\n'))
            size--;
        if (call->server->version == MODEL_REDIS_6_2)
            model_reply_error(call, "ERR Error running script (call to f_%s): %.*s", lua->sha1,
                              (int)size, text);
        else
            model_reply_error(call, "ERR Error running script %s, %.100s", lua->sha1, text);
        return;
    }
    lua_getfield(state, -1, "err");
    lua_getfield(state, -2, "source");
    lua_getfield(state, -3, "line");
    const char *text   = lua_tostring(state, -3);
    const char *source = lua_tostring(state, -2);
    if (text == NULL)
        text = "ERR unknown error";
    bool names_script = call->server->version != MODEL_VALKEY_9;
    if (source != NULL && lua_isnumber(state, -1))
        model_reply_error(call, "%s script: %s%son %s:%d.", text, names_script ? lua->sha1 : "",
                          names_script ? ", " : "", source, (int)lua_tointeger(state, -1));
    else
        model_reply_error(call, "%s", text);
    lua_pop(state, 3);
}

/* The names KEYS and ARGV, in the real globals. */
static void set_list(model_lua *lua, const char *name, const model_text *texts, size_t count)
{
    lua_createtable(lua->state, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(lua->state, texts[i].at, texts[i].size);
        lua_rawseti(lua->state, -2, (int)i + 1);
    }
    lua_setfield(lua->state, -2, name);
}

void model_script_run(model_call *call, model_text sha1, size_t keys)
{
    model_server *server = call->server;
    model_lua    *lua    = server->lua;
    lua_State    *state  = lua->state;
    void        **script = model_table_find(&lua->functions, sha1);
    int           top    = lua_gettop(state);

    memcpy(lua->sha1, sha1.at, MODEL_SHA1_TEXT);
    lua->call              = call;
    lua->database          = *call->database;
    lua->resp              = 2;
    lua->random            = 0x330e;
    lua->instructions      = 0;
    lua->was_out_of_memory = model_is_out_of_memory(server);
    lua->has_written       = false;
    lua_rawgeti(state, LUA_REGISTRYINDEX, lua->globals);
    set_list(lua, "KEYS", call->argv + 3, keys);
    set_list(lua, "ARGV", call->argv + 3 + keys, call->argc - 3 - keys);
    lua_pop(state, 1);
    lua_pushlightuserdata(state, server);
    lua_pushcclosure(state, handle_error, 1);
    lua_rawgeti(state, LUA_REGISTRYINDEX, ((model_script *)*script)->reference);
    if (lua_pcall(state, 0, 1, top + 1) == 0)
        model_script_reply(call, state);
    else
        reply_failure(call);
    lua_settop(state, top);
    lua->call = NULL;
}
