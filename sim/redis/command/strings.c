/*
 * strings.c -- SET and its relatives, counters.
 */
#include "sim/redis/command/key_commands.h"
#include "sim/redis/core/effects.h"

#include <string.h>

enum { MS_IN_S = 1000, STRING_MAX = 512 * 1024 * 1024 };

/* ---- expiry as an option --------------------------------------------------------------------- */

typedef struct lifetime {
    int64_t ends_ms; /* MODEL_NO_EXPIRY */
    bool    is_kept;
} lifetime;

/* The error names the command, since 7.0 in quotes. */
void model_refuse_expiry(model_call *call)
{
    const char *quote = call->server->version == MODEL_REDIS_6_2 ? "" : "'";
    const char *word  = call->server->version == MODEL_REDIS_6_2 ? "" : " command";

    model_reply_error(call, "ERR invalid expire time in %s%s%s%s", quote, call->command->name,
                      quote, word);
}

/* A positive number of units, from now on or since 1970.  False: an error was replied. */
static bool take_expiry(model_call *call, size_t nth, int64_t unit, bool is_absolute,
                        int64_t *ret_at_ms)
{
    int64_t base = is_absolute ? 0 : model_now_ms(call->server);
    int64_t number;

    if (!model_take_integer(call, nth, NULL, &number))
        return false;
    if (number <= 0 || number > INT64_MAX / unit || number * unit > INT64_MAX - base) {
        model_refuse_expiry(call);
        return false;
    }
    *ret_at_ms = number * unit + base;
    return true;
}

/* ---- SET ------------------------------------------------------------------------------------- */

typedef struct set_options {
    lifetime life;
    size_t   expiry_at; /* the argument; 0: none */
    bool     if_absent;
    bool     if_present;
    bool     returns_old;
} set_options;

static const struct {
    const char *word;
    int64_t     unit;
    bool        is_absolute;
} units[] = {
    { "EX", MS_IN_S, false },
    { "PX", 1, false },
    { "EXAT", MS_IN_S, true },
    { "PXAT", 1, true },
};

enum { UNITS = sizeof units / sizeof *units };

static size_t unit_of(const model_call *call, size_t nth)
{
    size_t unit = 0;

    while (unit < UNITS && !model_arg_is(call, nth, units[unit].word))
        unit++;
    return unit;
}

/* False: a syntax error. */
static bool read_options(const model_call *call, set_options *ret_options, size_t *ret_unit)
{
    set_options *o = ret_options;

    for (size_t i = 3; i < call->argc; i++) {
        size_t unit = unit_of(call, i);
        if (model_arg_is(call, i, "NX") && !o->if_present) {
            o->if_absent = true;
        } else if (model_arg_is(call, i, "XX") && !o->if_absent) {
            o->if_present = true;
        } else if (model_arg_is(call, i, "GET")) {
            o->returns_old = true;
        } else if (model_arg_is(call, i, "KEEPTTL") && o->expiry_at == 0) {
            o->life.is_kept = true;
        } else if (unit < UNITS && o->expiry_at == 0 && !o->life.is_kept && i + 1 < call->argc) {
            *ret_unit    = unit;
            o->expiry_at = ++i;
        } else {
            return false;
        }
    }
    return call->server->version != MODEL_REDIS_6_2 || !o->returns_old || !o->if_absent;
}

static void log_set(model_call *call, model_text text, int64_t at_ms)
{
    model_effect_begin(call, at_ms != MODEL_NO_EXPIRY ? 5 : 3);
    model_effect_add_text(call, "SET");
    model_effect_add(call, call->argv[1]);
    model_effect_add(call, text);
    if (at_ms != MODEL_NO_EXPIRY) {
        model_effect_add_text(call, "PXAT");
        model_effect_add_integer(call, at_ms);
    }
}

/* A time that is over: Valkey deletes the key at once. */
static void end_key(model_call *call)
{
    if (!model_delete(call, call->argv[1]))
        return;
    model_effect_begin(call, 2);
    model_effect_add_text(call, "DEL");
    model_effect_add(call, call->argv[1]);
}

static void store(model_call *call, model_text text, lifetime life)
{
    if (life.ends_ms != MODEL_NO_EXPIRY && life.ends_ms <= model_now_ms(call->server) &&
        call->server->version == MODEL_VALKEY_9 && call->origin != MODEL_FROM_PRIMARY) {
        end_key(call);
        return;
    }

    model_value *before = model_store_find(call->server->data, *call->database, call->argv[1]);
    int64_t      at_ms  = life.is_kept && before != NULL ? before->expires_ms : life.ends_ms;

    if (before != NULL && before->type == MODEL_STRING) {
        model_bytes_set(&before->as.string, text);
        model_expire_at(call, before, at_ms);
        model_changed(call, call->argv[1], before);
    } else {
        model_value *value = model_value_new(MODEL_STRING);
        model_bytes_set(&value->as.string, text);
        value->expires_ms = at_ms;
        model_replace(call, call->argv[1], value);
    }
    log_set(call, text, at_ms);
}

static void reply_string(model_call *call, const model_value *value)
{
    if (value != NULL)
        model_reply_bulk(call, model_bytes_text(&value->as.string));
    else
        model_reply_null(call);
}

static void cmd_set(model_call *call)
{
    set_options  options = { .life = { .ends_ms = MODEL_NO_EXPIRY } };
    size_t       unit    = 0;
    model_value *value;

    if (!read_options(call, &options, &unit)) {
        model_reply_syntax_error(call);
        return;
    }
    if (options.expiry_at != 0 && !take_expiry(call, options.expiry_at, units[unit].unit,
                                               units[unit].is_absolute, &options.life.ends_ms))
        return;
    if (options.returns_old) {
        if (!model_find(call, call->argv[1], MODEL_STRING, &value))
            return;
        reply_string(call, value);
    } else {
        value = model_find_any(call, call->argv[1]);
    }
    if ((options.if_absent && value != NULL) || (options.if_present && value == NULL)) {
        if (!options.returns_old)
            model_reply_null(call);
        return;
    }
    store(call, call->argv[2], options.life);
    if (!options.returns_old)
        model_reply_ok(call);
}

static void cmd_setnx(model_call *call)
{
    bool is_absent = model_find_any(call, call->argv[1]) == NULL;

    if (is_absent)
        store(call, call->argv[2], (lifetime){ .ends_ms = MODEL_NO_EXPIRY });
    model_reply_integer(call, is_absent);
}

static void set_for(model_call *call, int64_t unit)
{
    lifetime life = { .ends_ms = MODEL_NO_EXPIRY };

    if (!take_expiry(call, 2, unit, false, &life.ends_ms))
        return;
    (void)model_find_any(call, call->argv[1]); /* an expired key goes first */
    store(call, call->argv[3], life);
    model_reply_ok(call);
}

static void cmd_setex(model_call *call)
{
    set_for(call, MS_IN_S);
}

static void cmd_psetex(model_call *call)
{
    set_for(call, 1);
}

static void cmd_getset(model_call *call)
{
    model_value *value;

    if (!model_find(call, call->argv[1], MODEL_STRING, &value))
        return;
    reply_string(call, value);
    store(call, call->argv[2], (lifetime){ .ends_ms = MODEL_NO_EXPIRY });
}

/* ---- reading --------------------------------------------------------------------------------- */

static void cmd_get(model_call *call)
{
    model_value *value;

    if (model_find(call, call->argv[1], MODEL_STRING, &value))
        reply_string(call, value);
}

static void cmd_getdel(model_call *call)
{
    model_value *value;

    if (!model_find(call, call->argv[1], MODEL_STRING, &value))
        return;
    reply_string(call, value);
    if (value != NULL)
        (void)model_delete(call, call->argv[1]);
}

static void cmd_mget(model_call *call)
{
    model_reply_array(call, call->argc - 1);
    for (size_t i = 1; i < call->argc; i++) {
        model_value *value = model_find_any(call, call->argv[i]);
        reply_string(call, value != NULL && value->type == MODEL_STRING ? value : NULL);
    }
}

static void cmd_mset(model_call *call)
{
    if (call->argc % 2 == 0) {
        model_reply_error(call, "ERR wrong number of arguments for %s",
                          call->server->version == MODEL_REDIS_6_2 ? "MSET" : "'mset' command");
        return;
    }
    for (size_t i = 1; i < call->argc; i += 2) {
        model_value *value = model_value_new(MODEL_STRING);
        (void)model_find_any(call, call->argv[i]);
        model_bytes_set(&value->as.string, call->argv[i + 1]);
        model_replace(call, call->argv[i], value);
    }
    model_reply_ok(call);
}

static void cmd_strlen(model_call *call)
{
    model_value *value;

    if (model_find(call, call->argv[1], MODEL_STRING, &value))
        model_reply_integer(call, value != NULL ? (int64_t)value->as.string.size : 0);
}

static void cmd_getrange(model_call *call)
{
    model_value *value;
    int64_t      start;
    int64_t      end;

    if (!model_take_integer(call, 2, NULL, &start) || !model_take_integer(call, 3, NULL, &end) ||
        !model_find(call, call->argv[1], MODEL_STRING, &value))
        return;
    int64_t size = value != NULL ? (int64_t)value->as.string.size : 0;
    if (size == 0 || (start < 0 && end < 0 && start > end)) {
        model_reply_text(call, "");
        return;
    }
    start = start < 0 ? start + size : start;
    end   = end < 0 ? end + size : end;
    start = start < 0 ? 0 : start;
    end   = end < 0 ? 0 : end;
    end   = end >= size ? size - 1 : end;
    if (start > end)
        model_reply_text(call, "");
    else
        model_reply_bulk(call,
                         (model_text){ value->as.string.at + start, (size_t)(end - start + 1) });
}

/* ---- changing -------------------------------------------------------------------------------- */

static void cmd_append(model_call *call)
{
    model_value *value;

    if (!model_find(call, call->argv[1], MODEL_STRING, &value))
        return;
    if (value == NULL)
        value = model_create(call, call->argv[1], MODEL_STRING);
    if (value->as.string.size + call->argv[2].size > STRING_MAX) {
        model_reply_error(call, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
        return;
    }
    model_bytes_add(&value->as.string, call->argv[2].at, call->argv[2].size);
    model_changed(call, call->argv[1], value);
    model_reply_integer(call, (int64_t)value->as.string.size);
}

static void increase(model_call *call, int64_t by)
{
    model_value *value;
    int64_t      number = 0;

    if (!model_find(call, call->argv[1], MODEL_STRING, &value))
        return;
    if (value != NULL && !model_text_integer(model_bytes_text(&value->as.string), &number)) {
        model_reply_error(call, "ERR value is not an integer or out of range");
        return;
    }
    if (__builtin_add_overflow(number, by, &number)) {
        model_reply_error(call, "ERR increment or decrement would overflow");
        return;
    }
    if (value == NULL)
        value = model_create(call, call->argv[1], MODEL_STRING);
    value->as.string.size = 0;
    model_bytes_add_integer(&value->as.string, number);
    model_changed(call, call->argv[1], value);
    model_reply_integer(call, number);
}

static void cmd_incr(model_call *call)
{
    increase(call, 1);
}

static void cmd_decr(model_call *call)
{
    increase(call, -1);
}

static void cmd_incrby(model_call *call)
{
    int64_t by;

    if (model_take_integer(call, 2, NULL, &by))
        increase(call, by);
}

static void cmd_decrby(model_call *call)
{
    int64_t by;

    if (!model_take_integer(call, 2, NULL, &by))
        return;
    if (by == INT64_MIN && call->server->version != MODEL_REDIS_6_2)
        model_reply_error(call, "ERR decrement would overflow");
    else
        increase(call, (int64_t)(0 - (uint64_t)by)); /* in Redis 6.2 it wraps */
}

const model_command model_commands_strings[] = {
    { "get", cmd_get, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(STRING), NULL },
    { "set", cmd_set, -3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CAT(STRING), NULL },
    { "setnx", cmd_setnx, 3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(STRING), NULL },
    { "setex", cmd_setex, 4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CAT(STRING), NULL },
    { "psetex", cmd_psetex, 4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CAT(STRING), NULL },
    { "getset", cmd_getset, 3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(STRING), NULL },
    { "getdel", cmd_getdel, 2, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(STRING), NULL },
    { "mget", cmd_mget, -2, 1, -1, 1, CMD(READ) | CMD(FAST) | CAT(STRING), NULL },
    { "mset", cmd_mset, -3, 1, -1, 2, CMD(WRITE) | CMD(DENYOOM) | CAT(STRING), NULL },
    { "strlen", cmd_strlen, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(STRING), NULL },
    { "getrange", cmd_getrange, 4, 1, 1, 1, CMD(READ) | CAT(STRING), NULL },
    { "substr", cmd_getrange, 4, 1, 1, 1, CMD(READ) | CAT(STRING), NULL },
    { "append", cmd_append, 3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(STRING), NULL },
    { "incr", cmd_incr, 2, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(STRING), NULL },
    { "decr", cmd_decr, 2, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(STRING), NULL },
    { "incrby", cmd_incrby, 3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(STRING), NULL },
    { "decrby", cmd_decrby, 3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(STRING), NULL },
    { .name = NULL },
};
