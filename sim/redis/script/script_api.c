/*
 * script_api.c -- the library redis of scripts: call, pcall, error_reply and the others.
 */
#include "sim/redis/core/acl.h"
#include "sim/redis/core/cluster.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/dispatch.h"
#include "sim/redis/core/replication.h"
#include "sim/redis/script/lua_state.h"

#include <lua5.1/lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_ROOM = 40, LOG_LEVELS = 4 };

static model_lua *lua_of(lua_State *state)
{
    const model_server *server = lua_touserdata(state, lua_upvalueindex(1));

    return server->lua;
}

static bool is_old(const model_lua *lua)
{
    return lua->call->server->version == MODEL_REDIS_6_2;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* A text with a minus has its code; without a space it gets one. */
static void push_error_7(lua_State *state, const char *text)
{
    lua_createtable(state, 0, 1);
    if (text[0] == '-' && strchr(text, ' ') != NULL)
        lua_pushstring(state, text + 1);
    else
        lua_pushfstring(state, "ERR %s", text + (text[0] == '-'));
    lua_setfield(state, -2, "err");
}

void model_script_push_error(model_lua *lua, const char *text)
{
    lua_State *state = lua->state;
    lua_Debug  place;

    if (!is_old(lua)) {
        push_error_7(state, text);
        return;
    }
    lua_createtable(state, 0, 1);
    if (lua_getstack(state, 1, &place) != 0 && lua_getinfo(state, "nSl", &place) != 0)
        lua_pushfstring(state, "%s: %d: %s", place.source, place.currentline, text);
    else
        lua_pushstring(state, text);
    lua_setfield(state, -2, "err");
}

/* Raises the table at the top; Redis 6.2 raises its text. */
static int raise_error(model_lua *lua)
{
    if (is_old(lua))
        lua_getfield(lua->state, -1, "err");
    return lua_error(lua->state);
}

/* ---- redis.call ------------------------------------------------------------------------------ */

/* Redis before Valkey writes numbers with 17 digits.  An integer of as many is the same to all. */
static model_text number_text(model_lua *lua, lua_Number number)
{
    size_t before = lua->numbers.size;
    char  *to     = lua->numbers.at + before;

    if (number == floor(number) && fabs(number) < 1e17 && number != 0)
        model_bytes_add_integer(&lua->numbers, (int64_t)number);
    else if (lua->call->server->version == MODEL_VALKEY_9)
        lua->numbers.size += model_write_double(to, NUMBER_ROOM, number, true);
    else
        lua->numbers.size += (size_t)snprintf(to, NUMBER_ROOM, "%.17g", (double)number);
    return (model_text){ to, lua->numbers.size - before };
}

/* False: one of them is no text and no number. */
static bool take_arguments(model_lua *lua, size_t argc)
{
    lua_State *state = lua->state;

    if (argc > lua->argv_room) {
        lua->argv      = model_resize(lua->argv, argc * sizeof *lua->argv);
        lua->argv_room = argc;
    }
    lua->numbers.size = 0;
    (void)model_bytes_reserve(&lua->numbers, argc * NUMBER_ROOM);
    for (size_t i = 0; i < argc; i++) {
        int index = (int)i + 1;
        if (lua_type(state, index) == LUA_TNUMBER) {
            lua->argv[i] = number_text(lua, lua_tonumber(state, index));
        } else if (lua_type(state, index) == LUA_TSTRING) {
            lua->argv[i].at = lua_tolstring(state, index, &lua->argv[i].size);
        } else {
            return false;
        }
    }
    return true;
}

/* Valkey names the user and the command. */
static const char *acl_problem_of_valkey(model_lua *lua, const model_call *call,
                                         model_acl_answer answer)
{
    if (answer == MODEL_ACL_NOT_KEY)
        return "ACL failure in script: No permissions to access a key";
    if (answer == MODEL_ACL_NOT_CHANNEL)
        return "ACL failure in script: No permissions to access a channel";
    lua->problem.size = 0;
    model_bytes_print(&lua->problem,
                      "ACL failure in script: User %s has no permissions to run the '%s' command",
                      model_acl_name(call->link->user), call->command->name);
    (void)model_bytes_reserve(&lua->problem, 1);
    lua->problem.at[lua->problem.size] = '\0';
    return lua->problem.at;
}

static const char *acl_problem(model_lua *lua, const model_call *call)
{
    model_acl_answer answer =
        model_acl_check(call->link->user, call->command, call->argv, call->argc);

    if (answer != MODEL_ACL_YES && call->server->version == MODEL_VALKEY_9)
        return acl_problem_of_valkey(lua, call, answer);
    switch (answer) {
    case MODEL_ACL_YES: return NULL;
    case MODEL_ACL_NOT_COMMAND:
        return "The user executing the script can't run this command or subcommand";
    case MODEL_ACL_NOT_KEY:
        return "The user executing the script can't access at least one of the keys mentioned in "
               "the command arguments";
    case MODEL_ACL_NOT_CHANNEL:
        return "The user executing the script can't publish to the channel mentioned in the "
               "command";
    }
    return NULL;
}

static const char *cluster_problem(model_call *call)
{
    static const char *const down[] = {
        [MODEL_REDIS_6_2] = "Lua script attempted to execute a command while the cluster is down",
        [MODEL_REDIS_7_0] = "Script attempted to execute a command while the cluster is down",
        [MODEL_VALKEY_9]  = "Attempted to execute a command while the cluster is down",
    };
    static const char *const not_here[] = {
        [MODEL_REDIS_6_2] = "Lua script attempted to access a non local key in a cluster node",
        [MODEL_REDIS_7_0] = "Script attempted to access a non local key in a cluster node",
        [MODEL_VALKEY_9]  = "Attempted to access a non local key in a cluster node",
    };
    model_version version = call->server->version;
    unsigned      slot;
    int           node;

    switch (model_cluster_route(call, &slot, &node)) {
    case MODEL_ROUTE_HERE: return NULL;
    case MODEL_ROUTE_DOWN: return down[version];
    case MODEL_ROUTE_CROSSSLOT:
        if (version == MODEL_VALKEY_9)
            return "Attempted to access keys that do not hash to the same slot";
        break;
    case MODEL_ROUTE_MOVED:
    case MODEL_ROUTE_ASK:
    case MODEL_ROUTE_TRYAGAIN:
    case MODEL_ROUTE_UNSERVED: break;
    }
    return not_here[version];
}

/* In Redis 6.2 these errors end with a line end, which the reply has as two spaces. */
static const char *ended(const model_lua *lua, const char *text, const char *text_6)
{
    return is_old(lua) ? text_6 : text;
}

/* What the state of the server forbids to a script. */
static const char *state_problem(model_lua *lua, model_call *call)
{
    const model_server *server     = call->server;
    bool                writes     = (call->command->flags & MODEL_CMD_WRITE) != 0;
    bool                is_replica = model_is_replica(server);

    if (is_replica && !server->replication->is_up && !server->config->serves_stale_data &&
        (call->command->flags & MODEL_CMD_STALE) == 0)
        return ended(lua, "Can not execute the command on a stale replica",
                     "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to "
                     "'no'.\r\n");
    const char *problem = acl_problem(lua, call);
    if (problem != NULL)
        return problem;
    if (writes && is_replica)
        return ended(lua, "-READONLY You can't write against a read only replica.",
                     "-READONLY You can't write against a read only replica.\r\n");
    if (writes && !model_has_good_replicas(server))
        return ended(lua, "-NOREPLICAS Not enough good replicas to write.",
                     "-NOREPLICAS Not enough good replicas to write.\r\n");
    if (lua->was_out_of_memory && !lua->has_written && !is_replica &&
        (call->command->flags & MODEL_CMD_DENYOOM) != 0)
        return ended(lua, "-OOM command not allowed when used memory > 'maxmemory'.",
                     "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    lua->has_written = lua->has_written || writes;
    return server->is_cluster ? cluster_problem(call) : NULL;
}

static const char *problem_of(model_lua *lua, model_call *call)
{
    static const char *const unknown[] = {
        [MODEL_REDIS_6_2] = "Unknown Redis command called from Lua script",
        [MODEL_REDIS_7_0] = "Unknown Redis command called from script",
        [MODEL_VALKEY_9]  = "Unknown command called from script",
    };
    static const char *const wrong_count[] = {
        [MODEL_REDIS_6_2] = "Wrong number of args calling Redis command From Lua script",
        [MODEL_REDIS_7_0] = "Wrong number of args calling Redis command from script",
        [MODEL_VALKEY_9]  = "Wrong number of args calling command from script",
    };
    static const char *const not_allowed[] = {
        [MODEL_REDIS_6_2] = "This Redis command is not allowed from scripts",
        [MODEL_REDIS_7_0] = "This Redis command is not allowed from script",
        [MODEL_VALKEY_9]  = "This Valkey command is not allowed from script",
    };
    model_version version = call->server->version;

    if (call->command == NULL)
        return unknown[version];
    if (!model_command_accepts(call->command, call->argc))
        return wrong_count[version];
    if ((call->command->flags & MODEL_CMD_NOSCRIPT) != 0)
        return not_allowed[version];
    return state_problem(lua, call);
}

static const char *problem_of_arguments(const model_lua *lua, size_t argc)
{
    switch (lua->call->server->version) {
    case MODEL_REDIS_6_2:
        return argc == 0 ? "Please specify at least one argument for redis.call()"
                         : "Lua redis() command arguments must be strings or integers";
    case MODEL_REDIS_7_0:
        return argc == 0 ? "Please specify at least one argument for this redis lib call"
                         : "Lua redis lib command arguments must be strings or integers";
    case MODEL_VALKEY_9:
        return argc == 0 ? "Please specify at least one argument for this call"
                         : "Command arguments must be strings or integers";
    }
    return "";
}

static int run_command(lua_State *state, bool raises)
{
    model_lua  *lua  = lua_of(state);
    size_t      argc = (size_t)lua_gettop(state);
    const char *problem;

    if (argc == 0 || !take_arguments(lua, argc)) {
        problem = problem_of_arguments(lua, argc);
        model_script_push_error(lua, problem);
        return raises ? raise_error(lua) : 1;
    }
    model_call call = {
        .server   = lua->call->server,
        .link     = lua->call->link,
        .outer    = lua->call,
        .command  = model_command_find(lua->call->server, lua->argv[0]),
        .argv     = lua->argv,
        .argc     = argc,
        .out      = &lua->reply,
        .database = &lua->database,
        .resp     = lua->resp,
        .origin   = MODEL_FROM_SCRIPT,
    };
    problem = problem_of(lua, &call);
    if (problem != NULL) {
        model_script_push_error(lua, problem);
        return raises ? raise_error(lua) : 1;
    }
    lua->reply.size = 0;
    model_run(&call);
    model_script_push_reply(state, model_bytes_text(&lua->reply));
    return raises && call.has_failed ? raise_error(lua) : 1;
}

static int redis_call(lua_State *state)
{
    return run_command(state, true);
}

static int redis_pcall(lua_State *state)
{
    return run_command(state, false);
}

/* The pcall of Lua; but a table with err becomes its text, as since Redis 7.0. */
static int safe_call(lua_State *state)
{
    int argc = lua_gettop(state);

    luaL_checkany(state, 1);
    lua_pushboolean(state, true);
    lua_insert(state, 1);
    if (lua_pcall(state, argc - 1, LUA_MULTRET, 0) == 0)
        return lua_gettop(state);
    if (lua_istable(state, -1)) {
        lua_getfield(state, -1, "err");
        if (lua_isstring(state, -1))
            lua_replace(state, -2);
        else
            lua_pop(state, 1);
    }
    lua_pushboolean(state, false);
    lua_insert(state, -2);
    return 2;
}

/* ---- the others ------------------------------------------------------------------------------ */

static int redis_error_reply(lua_State *state)
{
    model_lua  *lua = lua_of(state);
    const char *text =
        lua_gettop(state) == 1 && lua_type(state, 1) == LUA_TSTRING ? lua_tostring(state, 1) : NULL;

    if (text == NULL) {
        model_script_push_error(lua, "wrong number or type of arguments");
    } else if (is_old(lua)) {
        lua_createtable(state, 0, 1);
        lua_pushvalue(state, 1);
        lua_setfield(state, -2, "err");
    } else {
        lua_pushfstring(state, "%s%s", text[0] == '-' ? "" : "-", text);
        push_error_7(state, lua_tostring(state, -1));
    }
    return 1;
}

static int redis_status_reply(lua_State *state)
{
    if (lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING) {
        model_script_push_error(lua_of(state), "wrong number or type of arguments");
        return 1;
    }
    lua_createtable(state, 0, 1);
    lua_pushvalue(state, 1);
    lua_setfield(state, -2, "ok");
    return 1;
}

static int redis_sha1hex(lua_State *state)
{
    char       hash[MODEL_SHA1_TEXT + 1];
    model_text text;

    if (lua_gettop(state) != 1) {
        model_script_push_error(lua_of(state), "wrong number of arguments");
        return raise_error(lua_of(state));
    }
    text.at = lua_tolstring(state, 1, &text.size);
    model_sha1(hash, text.at != NULL ? text : (model_text){ "", 0 });
    lua_pushstring(state, hash);
    return 1;
}

static int redis_setresp(lua_State *state)
{
    if (lua_gettop(state) != 1 || lua_tonumber(state, 1) != 2) {
        model_script_push_error(lua_of(state), "RESP version must be 2 or 3.");
        return raise_error(lua_of(state));
    }
    return 0;
}

static int redis_true(lua_State *state)
{
    lua_pushboolean(state, true);
    return 1;
}

static int redis_nothing(lua_State *state)
{
    (void)state;
    return 0;
}

/* lrand48, which Redis starts with 0 for each script. */
static uint64_t next_random(model_lua *lua)
{
    lua->random = (lua->random * 0x5deece66du + 0xbu) & 0xffffffffffffu;
    return lua->random >> 17;
}

static int math_random(lua_State *state)
{
    model_lua *lua  = lua_of(state);
    double     part = (double)(next_random(lua) % INT32_MAX) / (double)INT32_MAX;
    int        argc = lua_gettop(state);

    if (argc == 0) {
        lua_pushnumber(state, part);
        return 1;
    }
    lua_Number low  = argc == 1 ? 1 : floor(luaL_checknumber(state, 1));
    lua_Number high = floor(luaL_checknumber(state, argc == 1 ? 1 : 2));
    luaL_argcheck(state, low <= high, argc == 1 ? 1 : 2, "interval is empty");
    lua_pushnumber(state, floor(part * (high - low + 1)) + low);
    return 1;
}

static int math_randomseed(lua_State *state)
{
    uint32_t seed = (uint32_t)(int64_t)luaL_checknumber(state, 1);

    lua_of(state)->random = (uint64_t)seed << 16 | 0x330e;
    return 0;
}

static void add_function(model_lua *lua, model_server *server, const char *name,
                         int (*function)(lua_State *state))
{
    lua_pushlightuserdata(lua->state, server);
    lua_pushcclosure(lua->state, function, 1);
    lua_setfield(lua->state, -2, name);
}

void model_script_add_api(model_lua *lua, model_server *server)
{
    static const struct {
        const char *name;
        int (*function)(lua_State *state);
    } functions[] = {
        { "call", redis_call },
        { "pcall", redis_pcall },
        { "error_reply", redis_error_reply },
        { "status_reply", redis_status_reply },
        { "sha1hex", redis_sha1hex },
        { "setresp", redis_setresp },
        { "replicate_commands", redis_true },
        { "log", redis_nothing },
        { "set_repl", redis_nothing },
    };
    static const char *const levels[LOG_LEVELS] = { "LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE",
                                                    "LOG_WARNING" };

    lua_newtable(lua->state);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        add_function(lua, server, functions[i].name, functions[i].function);
    for (int i = 0; i < LOG_LEVELS; i++) {
        lua_pushinteger(lua->state, i);
        lua_setfield(lua->state, -2, levels[i]);
    }
    lua_setglobal(lua->state, "redis");
    lua_pushcfunction(lua->state, safe_call);
    lua_setglobal(lua->state, "pcall");
    lua_getglobal(lua->state, "math");
    add_function(lua, server, "random", math_random);
    add_function(lua, server, "randomseed", math_randomseed);
    lua_pop(lua->state, 1);
}
