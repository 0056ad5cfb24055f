/*
 * script_values.c -- values between Lua and RESP2, as Redis documents them: numbers lose their
 * fraction, false is null, nil ends an array, and a table with ok or err is a status or an error.
 */
#include "sim/redis/script/lua_state.h"

#include <lua5.1/lauxlib.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 100, STACK_ROOM = 4 };

/* ---- from RESP ------------------------------------------------------------------------------- */

static model_text line_at(model_text rest)
{
    const char *end = memchr(rest.at, '\r', rest.size);

    return (model_text){ rest.at + 1, (size_t)(end - rest.at) - 1 };
}

/* Pushes the first value; returns its size.  The bytes are our own replies: well formed. */
static size_t push_value(lua_State *state, model_text rest, unsigned depth)
{
    model_text line   = line_at(rest);
    size_t     used   = line.size + 3;
    int64_t    number = 0;

    luaL_checkstack(state, STACK_ROOM, "too deep");
    switch (rest.at[0]) {
    case '+':
    case '-':
        lua_createtable(state, 0, 1);
        lua_pushlstring(state, line.at, line.size);
        lua_setfield(state, -2, rest.at[0] == '+' ? "ok" : "err");
        return used;
    case ':':
        (void)model_text_integer(line, &number);
        lua_pushnumber(state, (lua_Number)number);
        return used;
    case '$':
        (void)model_text_integer(line, &number);
        if (number < 0) {
            lua_pushboolean(state, false);
            return used;
        }
        lua_pushlstring(state, rest.at + used, (size_t)number);
        return used + (size_t)number + 2;
    }
    (void)model_text_integer(line, &number);
    if (number < 0 || depth == DEPTH_MAX) {
        lua_pushboolean(state, false);
        return used;
    }
    lua_createtable(state, (int)number, 0);
    for (int64_t i = 1; i <= number; i++) {
        used += push_value(state, (model_text){ rest.at + used, rest.size - used }, depth + 1);
        lua_rawseti(state, -2, (int)i);
    }
    return used;
}

void model_script_push_reply(lua_State *state, model_text reply)
{
    (void)push_value(state, reply, 0);
}

/* ---- to RESP --------------------------------------------------------------------------------- */

static int64_t integer_of(lua_Number number)
{
    bool fits = number > -9223372036854775808.0 && number < 9223372036854775808.0;

    return fits ? (int64_t)number : INT64_MIN;
}

/* A text field of the table at the top, which stays on the stack then. */
static const char *text_field(lua_State *state, const char *name)
{
    lua_pushstring(state, name);
    lua_rawget(state, -2);
    if (lua_type(state, -1) == LUA_TSTRING)
        return lua_tostring(state, -1);
    lua_pop(state, 1);
    return NULL;
}

static void reply_value(model_call *call, lua_State *state, unsigned depth);

static void reply_array(model_call *call, lua_State *state, unsigned depth)
{
    size_t count = 0;

    for (;; count++) {
        lua_rawgeti(state, -1, (int)count + 1);
        bool is_end = lua_isnil(state, -1);
        lua_pop(state, 1);
        if (is_end)
            break;
    }
    model_reply_array(call, count);
    for (size_t i = 1; i <= count; i++) {
        lua_rawgeti(state, -1, (int)i);
        reply_value(call, state, depth + 1);
    }
}

static void reply_table(model_call *call, lua_State *state, unsigned depth)
{
    const char *text = text_field(state, "err");

    if (text != NULL) {
        model_reply_error(call, "%s", text);
        lua_pop(state, 1);
        return;
    }
    text = text_field(state, "ok");
    if (text != NULL) {
        char *copy = model_text_copy(model_text_of(text));
        for (char *c = copy; *c != '\0'; c++)
            if (*c == '\r' || *c == '\n')
                *c = ' ';
        model_reply_status(call, copy);
        free(copy);
        lua_pop(state, 1);
        return;
    }
    if (depth == DEPTH_MAX || !lua_checkstack(state, STACK_ROOM))
        model_reply_error(call, "ERR reached lua stack limit");
    else
        reply_array(call, state, depth);
}

/* Pops the value. */
static void reply_value(model_call *call, lua_State *state, unsigned depth)
{
    size_t      size;
    const char *text;

    switch (lua_type(state, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(state, -1, &size);
        model_reply_bulk(call, (model_text){ text, size });
        break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(state, -1))
            model_reply_integer(call, 1);
        else
            model_reply_null(call);
        break;
    case LUA_TNUMBER: model_reply_integer(call, integer_of(lua_tonumber(state, -1))); break;
    case LUA_TTABLE: reply_table(call, state, depth); break;
    default: model_reply_null(call);
    }
    lua_pop(state, 1);
}

void model_script_reply(model_call *call, lua_State *state)
{
    reply_value(call, state, 0);
}
