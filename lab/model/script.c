#include "lab/model/script.h"
#include "core/text.h"
#include "lab/base/say.h"

#include <inttypes.h>
#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { INSTRUCTIONS_MAX = 100000, MEMORY_MAX = 16 << 20, VALUE_ROOM = 32 };

#define KEY          "key"
#define TOKEN_PREFIX "token:"

/* What the functions of a script work on, while it runs. */
static struct {
    lua_State                    *state; /* NULL: not opened yet */
    bwl_model_redis              *redis;
    const bwl_model_command_args *args;
    bwl_model_call               *run;
    bool                          is_refused; /* a command of the script was */
} now;

/* ---- values ---------------------------------------------------------------------------------- */

static void push_value(lua_State *state, int64_t value)
{
    uint16_t             token;
    const bwl_lock_text *text = bwl_model_text_of(now.args->program, value, &token);
    char                 words[VALUE_ROOM];

    if (text != NULL) {
        lua_pushlstring(state, text->bytes, text->size);
        return;
    }
    if (token != 0)
        (void)snprintf(words, sizeof words, TOKEN_PREFIX "%u", token);
    else if (value >= BWL_MODEL_FOREIGN_VALUE)
        (void)snprintf(words, sizeof words, "foreign");
    else
        (void)snprintf(words, sizeof words, "%" PRId64, value);
    lua_pushstring(state, words);
}

static bool read_integer(const char *text, size_t size, int64_t *ret_number)
{
    bool     is_minus = size > 1 && text[0] == '-';
    uint64_t number;

    if (!bwl_number_parse(&number, text + is_minus, size - is_minus, BWL_MODEL_TEXT - 1))
        return false;
    *ret_number = is_minus ? -(int64_t)number : (int64_t)number;
    return true;
}

/* The value of a text that a script stores or returns. */
static int64_t value_of_text(const char *text, size_t size)
{
    const bwl_lock_program *program = now.args->program;
    size_t                  prefix  = strlen(TOKEN_PREFIX);
    int64_t                 number;

    if (read_integer(text, size, &number))
        return number;
    if (size > prefix && memcmp(text, TOKEN_PREFIX, prefix) == 0 &&
        read_integer(text + prefix, size - prefix, &number))
        return BWL_MODEL_TEXT + number;
    if (memmem(text, size, TOKEN_PREFIX, prefix) == NULL) {
        number = bwl_model_value_of_text(program, text, size);
        if (number >= 0)
            return number;
    }
    exit(bwl_complain(
        bwl_say("the lab cannot run this script"),
        bwl_say("it makes the text \"%.60s\", which the model cannot store", bwl_shown(text).of).of,
        "a script may store the token, numbers, and a few constant texts"));
}

/* ---- redis.call ------------------------------------------------------------------------------ */

static bwl_call_word word_named(const char *name)
{
    for (unsigned i = BWL_CALL_NONE + 1; i < BWL_CALL_WORDS_END; i++)
        if (strcasecmp(bwl_call_word_name((bwl_call_word)i), name) == 0)
            return (bwl_call_word)i;
    return BWL_CALL_NONE;
}

static bwl_call_arg arg_of(lua_State *state, int at, const bwl_call *call)
{
    size_t      size;
    const char *text = luaL_checklstring(state, at, &size);

    if (call->args_count == 0 && strcmp(text, KEY) == 0)
        return (bwl_call_arg){ BWL_ARG_KEY, 0 };
    for (unsigned i = BWL_SET_NX;
         call->word == BWL_CALL_SET && call->args_count >= 2 && i <= BWL_SET_KEEPTTL; i++)
        if (strcasecmp(bwl_set_word_name((bwl_set_word)i), text) == 0)
            return (bwl_call_arg){ BWL_ARG_KEYWORD, (int64_t)i };
    return (bwl_call_arg){ BWL_ARG_NUMBER, value_of_text(text, size) };
}

static bool is_bulk(const bwl_call *call)
{
    return call->word == BWL_CALL_GET || call->word == BWL_CALL_GETSET ||
           call->word == BWL_CALL_SET;
}

static void push_reply(lua_State *state, const bwl_call *call, const bwl_model_reply *reply)
{
    if (reply->kind == BWL_REPLY_NIL) {
        lua_pushboolean(state, false);
    } else if (reply->kind == BWL_REPLY_OK) {
        lua_newtable(state);
        lua_pushstring(state, "OK");
        lua_setfield(state, -2, "ok");
    } else if (is_bulk(call)) {
        push_value(state, (int64_t)reply->number);
    } else {
        lua_pushinteger(state, (lua_Integer)(int64_t)reply->number);
    }
}

static int call(lua_State *state)
{
    bwl_call        made = { .word = (uint8_t)word_named(luaL_checkstring(state, 1)) };
    bwl_model_reply reply;

    if (made.word == BWL_CALL_NONE) /* a server may have it */
        exit(bwl_complain(bwl_say("the lab cannot run this script"),
                          bwl_say("it has no command %s", bwl_shown(lua_tostring(state, 1)).of).of,
                          "type: bowline lab --help format  for the commands that it has"));
    if (made.word == BWL_CALL_EVAL || made.word == BWL_CALL_WATCH || made.word == BWL_CALL_UNWATCH)
        return luaL_error(state, "the lab has no command %s in a script", lua_tostring(state, 1));
    for (int i = 2; i <= lua_gettop(state); i++) {
        if (made.args_count == BWL_CALL_ARGS_MAX)
            return luaL_error(state, "too many arguments");
        bwl_call_arg arg             = arg_of(state, i, &made);
        made.args[made.args_count++] = arg;
    }
    if (!bwl_call_has_args(&made))
        return luaL_error(state, "wrong arguments of %s", lua_tostring(state, 1));
    reply = now.run(now.redis, now.args, &made);
    if (reply.answer != BWL_YES) {
        now.is_refused = true;
        return luaL_error(state, "ERR %s was refused", lua_tostring(state, 1));
    }
    push_reply(state, &made, &reply);
    return 1;
}

/* ---- the state ------------------------------------------------------------------------------- */

/* What is different for a script of a server: no variable and no table outlives it, so that the
 * same script always does the same; what a server has and the lab has not is `lacks`. */
static const char prelude[] =
    "local lacks, unknown, call, try = ...\n"
    "local setmeta, globals = setmetatable, _G\n"
    "local function closed(of, missing)\n"
    "    return setmeta({}, { __metatable = false, __index = function(_, name)\n"
    "        local value = of[name]\n"
    "        if value == nil and missing then missing(name) end\n"
    "        return value\n"
    "    end, __newindex = function(_, name)\n"
    "        error(\"a script cannot set '\" .. tostring(name) .. \"' outside of it\", 2)\n"
    "    end })\n"
    "end\n"
    "for _, name in ipairs({ 'dofile', 'loadfile', 'load', 'loadstring', 'print', 'newproxy',\n"
    "                        'require', 'module', 'rawset', 'setfenv', 'getfenv',\n"
    "                        'collectgarbage', 'coroutine' }) do\n"
    "    globals[name] = nil\n"
    "end\n"
    "globals.redis = { call = call, log = function() end, LOG_DEBUG = 0, LOG_VERBOSE = 1,\n"
    "                  LOG_NOTICE = 2, LOG_WARNING = 3 }\n"
    "function globals.redis.pcall(...)\n"
    "    local is_good, reply = try(call, ...)\n"
    "    if is_good then return reply end\n"
    "    return { err = tostring(reply) }\n"
    "end\n"
    "function globals.redis.error_reply(text) return { err = text } end\n"
    "function globals.redis.status_reply(text) return { ok = text } end\n"
    "getmetatable('').__metatable = false\n"
    "for _, name in ipairs({ 'string', 'table', 'math' }) do\n"
    "    globals[name] = closed(globals[name])\n"
    "end\n"
    "globals.redis = closed(globals.redis, lacks)\n"
    "globals._G = closed(globals, unknown)\n"
    "return globals._G\n";

/* A server would go on, and answer nobody. */
static void limit(lua_State *state, lua_Debug *debug)
{
    (void)state;
    (void)debug;
    exit(bwl_complain(bwl_say("the lab cannot run this script"),
                      bwl_say("it has not ended after %d instructions", INSTRUCTIONS_MAX).of, ""));
}

/* Of lua_newstate. */
static void *take_memory(void *used, void *block, size_t size, size_t wanted)
{
    size_t *sum = used;
    void   *grown;

    *sum = *sum - size + wanted;
    if (*sum > MEMORY_MAX)
        exit(bwl_complain(bwl_say("the lab cannot run this script"),
                          bwl_say("it needs more than %d MB", MEMORY_MAX >> 20).of, ""));
    if (wanted == 0) {
        free(block);
        return NULL;
    }
    grown = realloc(block, wanted);
    if (grown == NULL)
        exit(bwl_complain(bwl_say("out of memory"), "", ""));
    return grown;
}

static int lacks(lua_State *state)
{
    exit(bwl_complain(bwl_say("the lab cannot run this script"),
                      bwl_say("it has no function %s", bwl_shown(lua_tostring(state, 1)).of).of,
                      "type: bowline lab --help format"));
}

/* A name that is no global variable: of a server, or of nobody. */
static int unknown(lua_State *state)
{
    static const char *const of_servers[] = { "cjson", "cmsgpack", "bit", "struct", "os" };
    const char              *name         = lua_tostring(state, 1);

    for (size_t i = 0; name != NULL && i < sizeof of_servers / sizeof of_servers[0]; i++)
        if (strcmp(name, of_servers[i]) == 0)
            return lacks(state);
    luaL_where(state, 2); /* the line of the script */
    lua_pushfstring(state, "there is no variable %s", name != NULL ? name : "of this kind");
    lua_concat(state, 2);
    return lua_error(state);
}

static void open_state(void)
{
    static size_t used;

    if (now.state != NULL)
        return;
    now.state = lua_newstate(take_memory, &used);
    if (now.state == NULL)
        exit(bwl_complain(bwl_say("out of memory"), "", ""));
    luaopen_base(now.state);
    luaopen_table(now.state);
    luaopen_string(now.state);
    luaopen_math(now.state);
    lua_settop(now.state, 0);
    (void)luaL_loadbuffer(now.state, prelude, sizeof prelude - 1, "=prelude");
    lua_pushcfunction(now.state, lacks);
    lua_pushcfunction(now.state, unknown);
    lua_pushcfunction(now.state, call);
    lua_getglobal(now.state, "pcall");
    lua_call(now.state, 4, 1);
    lua_replace(now.state, LUA_GLOBALSINDEX);
}

/* A variable of the next script. */
static void set_global(lua_State *state, const char *name)
{
    lua_pushstring(state, name);
    lua_insert(state, -2);
    lua_rawset(state, LUA_GLOBALSINDEX);
}

/* Pushes the function of a script, which is compiled once; or an error: false. */
static bool push_script(const bwl_lock_text *script)
{
    lua_pushlightuserdata(now.state, (void *)(uintptr_t)script->bytes);
    lua_rawget(now.state, LUA_REGISTRYINDEX);
    if (!lua_isnil(now.state, -1))
        return true;
    lua_pop(now.state, 1);
    if (luaL_loadbuffer(now.state, script->bytes, script->size, "=script") != 0)
        return false;
    lua_pushlightuserdata(now.state, (void *)(uintptr_t)script->bytes);
    lua_pushvalue(now.state, -2);
    lua_rawset(now.state, LUA_REGISTRYINDEX);
    return true;
}

const char *bwl_model_script_fault(const bwl_lock_text *script)
{
    open_state();
    lua_settop(now.state, 0);
    return push_script(script) ? NULL : lua_tostring(now.state, -1);
}

static bwl_model_reply reply_of(lua_State *state)
{
    bwl_model_reply reply = { .answer = BWL_YES, .kind = BWL_REPLY_VALUE };
    size_t          size;
    const char     *text;

    switch (lua_type(state, -1)) {
    case LUA_TNUMBER: reply.number = (uint64_t)(int64_t)lua_tonumber(state, -1); return reply;
    case LUA_TSTRING:
        text         = lua_tolstring(state, -1, &size);
        reply.number = (uint64_t)value_of_text(text, size);
        return reply;
    case LUA_TBOOLEAN:
        reply.kind   = lua_toboolean(state, -1) ? BWL_REPLY_VALUE : BWL_REPLY_NIL;
        reply.number = 1;
        return reply;
    case LUA_TTABLE:
        lua_getfield(state, -1, "ok");
        reply.kind = BWL_REPLY_OK;
        if (lua_isnil(state, -1))
            reply.answer = BWL_REFUSED; /* an error, or a list, which no lock file asks for */
        return reply;
    default: reply.kind = BWL_REPLY_NIL; return reply;
    }
}

bwl_model_reply bwl_model_script(bwl_model_redis *r, const bwl_model_command_args *q,
                                 const bwl_call *eval, const int64_t *values, bwl_model_call *run)
{
    lua_State *state;

    open_state();
    now.redis = r;
    now.args  = q;
    now.run   = run;
    state     = now.state;
    lua_settop(state, 0);
    lua_newtable(state);
    lua_pushstring(state, KEY);
    lua_rawseti(state, -2, 1);
    set_global(state, "KEYS");
    lua_newtable(state);
    for (int i = 3; i < eval->args_count; i++) {
        push_value(state, values[i]);
        lua_rawseti(state, -2, i - 2);
    }
    set_global(state, "ARGV");
    lua_sethook(state, limit, LUA_MASKCOUNT, INSTRUCTIONS_MAX);
    now.is_refused = false;
    if (push_script(&q->program->texts[eval->args[0].number]) && lua_pcall(state, 0, 1, 0) == 0)
        return reply_of(state);
    if (now.is_refused || lua_istable(state, -1)) /* error({ err = ... }) */
        return (bwl_model_reply){ .answer = BWL_REFUSED };
    exit(bwl_complain(bwl_say("the lab cannot run this script"),
                      bwl_shown(lua_tostring(state, -1)).of, "type: bowline lab --help format"));
}
