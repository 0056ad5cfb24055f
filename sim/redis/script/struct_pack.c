/*
 * struct_pack.c -- the library struct of scripts: pack, unpack and size, for the formats
 * < > = ! b B h H l L T i I s c x f d and a blank.  Values are not aligned.
 */
#include "sim/redis/script/lua_state.h"

#include <ctype.h>
#include <lua5.1/lauxlib.h>
#include <string.h>

enum { INTEGER_MAX = 8, INT_SIZE = 4 };

typedef struct format {
    lua_State  *state;
    const char *at;
    bool        is_big;
} format;

typedef struct field {
    char   type; /* '\0': the end */
    size_t size;
} field;

static size_t number(format *f, size_t otherwise)
{
    size_t value = 0;

    if (!isdigit((unsigned char)*f->at))
        return otherwise;
    while (isdigit((unsigned char)*f->at) && value < 1u << 20)
        value = value * 10 + (size_t)(*f->at++ - '0');
    return value;
}

static field next_field(format *f)
{
    for (;;) {
        char c = *f->at;
        if (c == '\0')
            return (field){ '\0', 0 };
        f->at++;
        switch (c) {
        case '<': f->is_big = false; continue;
        case '>': f->is_big = true; continue;
        case '=': continue;
        case ' ': continue;
        case '!': (void)number(f, 0); continue;
        case 'x':
        case 'b':
        case 'B': return (field){ c, 1 };
        case 'h':
        case 'H': return (field){ c, 2 };
        case 'l':
        case 'L':
        case 'T':
        case 'd': return (field){ c, 8 };
        case 'f': return (field){ c, 4 };
        case 's': return (field){ c, 0 };
        case 'c': return (field){ c, number(f, 1) };
        case 'i':
        case 'I': {
            size_t size = number(f, INT_SIZE);
            if (size < 1 || size > INTEGER_MAX)
                (void)luaL_error(f->state, "integral size %d is larger than limit of %d", (int)size,
                                 INTEGER_MAX);
            return (field){ c, size };
        }
        default: (void)luaL_error(f->state, "invalid format option '%c'", c);
        }
    }
}

static void order(const format *f, char *bytes, size_t size)
{
    for (size_t i = 0; f->is_big && i < size / 2; i++) {
        char kept           = bytes[i];
        bytes[i]            = bytes[size - 1 - i];
        bytes[size - 1 - i] = kept;
    }
}

static void pack_number(format *f, luaL_Buffer *to, field is, lua_Number value)
{
    char    bytes[INTEGER_MAX] = { 0 };
    float   small              = (float)value;
    int64_t integer            = value < 0 ? (int64_t)value : (int64_t)(uint64_t)value;

    if (is.type == 'f')
        memcpy(bytes, &small, sizeof small);
    else if (is.type == 'd')
        memcpy(bytes, &value, sizeof value);
    else
        memcpy(bytes, &integer, sizeof integer);
    order(f, bytes, is.size);
    luaL_addlstring(to, bytes, is.size);
}

static int pack(lua_State *state)
{
    format      f   = { .state = state, .at = luaL_checkstring(state, 1) };
    int         nth = 2;
    field       is;
    size_t      size;
    luaL_Buffer to;

    luaL_buffinit(state, &to);
    while ((is = next_field(&f)).type != '\0') {
        if (is.type == 'x') {
            luaL_addchar(&to, '\0');
        } else if (is.type == 's' || is.type == 'c') {
            const char *text = luaL_checklstring(state, nth++, &size);
            if (is.type == 'c')
                luaL_argcheck(state, size >= is.size, nth - 1, "string too short");
            luaL_addlstring(&to, text, is.type == 's' || is.size == 0 ? size : is.size);
            if (is.type == 's')
                luaL_addchar(&to, '\0');
        } else {
            pack_number(&f, &to, is, luaL_checknumber(state, nth++));
        }
    }
    luaL_pushresult(&to);
    return 1;
}

static lua_Number unpack_number(format *f, field is, const char *at)
{
    char     bytes[INTEGER_MAX];
    float    small;
    double   large;
    uint64_t integer = 0;

    memcpy(bytes, at, is.size);
    order(f, bytes, is.size);
    if (is.type == 'f') {
        memcpy(&small, bytes, sizeof small);
        return small;
    }
    if (is.type == 'd') {
        memcpy(&large, bytes, sizeof large);
        return large;
    }
    memcpy(&integer, bytes, is.size);
    if (islower((unsigned char)is.type) == 0)
        return (lua_Number)integer;
    unsigned unused = 64 - 8 * (unsigned)is.size;
    return (lua_Number)((int64_t)(integer << unused) >> unused);
}

static int unpack(lua_State *state)
{
    format      f = { .state = state, .at = luaL_checkstring(state, 1) };
    size_t      size;
    const char *data  = luaL_checklstring(state, 2, &size);
    size_t      at    = (size_t)luaL_optinteger(state, 3, 1) - 1;
    int         count = 0;
    field       is;

    while ((is = next_field(&f)).type != '\0') {
        luaL_argcheck(state, at <= size && is.size <= size - at, 2, "data string too short");
        luaL_checkstack(state, 2, "too many results");
        if (is.type == 's') {
            const char *end = memchr(data + at, '\0', size - at);
            if (end == NULL)
                return luaL_error(state, "unfinished string in data");
            is.size = (size_t)(end - data) - at + 1;
            lua_pushlstring(state, data + at, is.size - 1);
            count++;
        } else if (is.type == 'c') {
            lua_pushlstring(state, data + at, is.size);
            count++;
        } else if (is.type != 'x') {
            lua_pushnumber(state, unpack_number(&f, is, data + at));
            count++;
        }
        at += is.size;
    }
    lua_pushinteger(state, (lua_Integer)at + 1);
    return count + 1;
}

static int size_of(lua_State *state)
{
    format f    = { .state = state, .at = luaL_checkstring(state, 1) };
    size_t size = 0;
    field  is;

    while ((is = next_field(&f)).type != '\0') {
        luaL_argcheck(state, is.type != 's', 1, "variable-length format");
        size += is.size;
    }
    lua_pushinteger(state, (lua_Integer)size);
    return 1;
}

void model_script_add_struct(lua_State *state)
{
    lua_newtable(state);
    lua_pushcfunction(state, pack);
    lua_setfield(state, -2, "pack");
    lua_pushcfunction(state, unpack);
    lua_setfield(state, -2, "unpack");
    lua_pushcfunction(state, size_of);
    lua_setfield(state, -2, "size");
    lua_setglobal(state, "struct");
}
