/*
 * keys.c -- what works on a key of any type: existence, expiry, whole databases.
 */
#include "sim/redis/command/key_commands.h"
#include "sim/redis/core/effects.h"
#include "sim/redis/core/protocol.h"

enum { MS_IN_S = 1000 };

static void cmd_del(model_call *call)
{
    int64_t count = 0;

    for (size_t i = 1; i < call->argc; i++)
        if (model_find_any(call, call->argv[i]) != NULL)
            count += model_delete(call, call->argv[i]);
    model_reply_integer(call, count);
}

static void cmd_exists(model_call *call)
{
    int64_t count = 0;

    for (size_t i = 1; i < call->argc; i++)
        count += model_find_any(call, call->argv[i]) != NULL;
    model_reply_integer(call, count);
}

static void cmd_type(model_call *call)
{
    const model_value *value = model_find_any(call, call->argv[1]);

    model_reply_status(call, value != NULL ? model_type_name(value->type) : "none");
}

/* ---- expiry ---------------------------------------------------------------------------------- */

typedef struct conditions {
    bool nx;
    bool xx;
    bool gt;
    bool lt;
} conditions;

/* False: an error was replied. */
static bool read_conditions(model_call *call, conditions *ret_is)
{
    conditions is = { .nx = false };

    if (call->server->version == MODEL_REDIS_6_2 && call->argc > 3) {
        model_reply_error(call, "ERR wrong number of arguments for '%s' command",
                          call->command->name);
        return false;
    }
    for (size_t i = 3; i < call->argc; i++) {
        if (model_arg_is(call, i, "NX")) {
            is.nx = true;
        } else if (model_arg_is(call, i, "XX")) {
            is.xx = true;
        } else if (model_arg_is(call, i, "GT")) {
            is.gt = true;
        } else if (model_arg_is(call, i, "LT")) {
            is.lt = true;
        } else {
            model_reply_error(call, "ERR Unsupported option %.*s", (int)call->argv[i].size,
                              call->argv[i].at);
            return false;
        }
    }
    if (is.nx && (is.xx || is.gt || is.lt)) {
        model_reply_error(call,
                          "ERR NX and XX, GT or LT options at the same time are not compatible");
        return false;
    }
    if (is.gt && is.lt) {
        model_reply_error(call, "ERR GT and LT options at the same time are not compatible");
        return false;
    }
    *ret_is = is;
    return true;
}

/* A value without expiry counts as one that expires never. */
static bool allow(conditions is, int64_t before_ms, int64_t at_ms)
{
    bool has = before_ms != MODEL_NO_EXPIRY;

    return !(is.nx && has) && !(is.xx && !has) && !(is.gt && (!has || at_ms <= before_ms)) &&
           !(is.lt && has && at_ms >= before_ms);
}

static void log_words(model_call *call, const char *name, int64_t at_ms)
{
    bool has_time = at_ms != MODEL_NO_EXPIRY;

    model_effect_begin(call, has_time ? 3 : 2);
    model_effect_add_text(call, name);
    model_effect_add(call, call->argv[1]);
    if (has_time)
        model_effect_add_integer(call, at_ms);
}

static void expire(model_call *call, int64_t unit, bool is_absolute)
{
    bool       is_replica = call->origin == MODEL_FROM_PRIMARY;
    int64_t    now        = model_now_ms(call->server);
    int64_t    base       = is_absolute ? 0 : now;
    conditions is;
    int64_t    at_ms;

    if (!read_conditions(call, &is) || !model_take_integer(call, 2, NULL, &at_ms))
        return;
    if (at_ms > INT64_MAX / unit || at_ms < INT64_MIN / unit || at_ms * unit > INT64_MAX - base) {
        model_refuse_expiry(call);
        return;
    }
    at_ms              = at_ms * unit + base;
    model_value *value = model_find_any(call, call->argv[1]);
    if (value == NULL || !allow(is, value->expires_ms, at_ms)) {
        model_reply_integer(call, 0);
        return;
    }
    if (at_ms <= now && !is_replica) {
        (void)model_delete(call, call->argv[1]);
        log_words(call, "DEL", MODEL_NO_EXPIRY);
    } else {
        model_expire_at(call, value, at_ms);
        call->changes++;
        model_key_changed(call->server, *call->database, call->argv[1]);
        log_words(call, "PEXPIREAT", at_ms);
    }
    model_reply_integer(call, 1);
}

static void cmd_expire(model_call *call)
{
    expire(call, MS_IN_S, false);
}

static void cmd_pexpire(model_call *call)
{
    expire(call, 1, false);
}

static void cmd_expireat(model_call *call)
{
    expire(call, MS_IN_S, true);
}

static void cmd_pexpireat(model_call *call)
{
    expire(call, 1, true);
}

static void cmd_persist(model_call *call)
{
    model_value *value = model_find_any(call, call->argv[1]);
    bool         has   = value != NULL && value->expires_ms != MODEL_NO_EXPIRY;

    if (has) {
        model_expire_at(call, value, MODEL_NO_EXPIRY);
        call->changes++;
        model_key_changed(call->server, *call->database, call->argv[1]);
    }
    model_reply_integer(call, has);
}

static void reply_expiry(model_call *call, bool in_seconds, bool is_absolute)
{
    const model_value *value = model_find_any(call, call->argv[1]);
    int64_t            left  = value == NULL                          ? -2
                               : value->expires_ms == MODEL_NO_EXPIRY ? -1
                               : is_absolute                          ? value->expires_ms
                                             : value->expires_ms - model_now_ms(call->server);

    if (value != NULL && value->expires_ms != MODEL_NO_EXPIRY && left < 0)
        left = 0;
    model_reply_integer(call, in_seconds && left >= 0 ? (left + MS_IN_S / 2) / MS_IN_S : left);
}

static void cmd_ttl(model_call *call)
{
    reply_expiry(call, true, false);
}

static void cmd_pttl(model_call *call)
{
    reply_expiry(call, false, false);
}

static void cmd_expiretime(model_call *call)
{
    reply_expiry(call, true, true);
}

static void cmd_pexpiretime(model_call *call)
{
    reply_expiry(call, false, true);
}

/* ---- whole databases ------------------------------------------------------------------------- */

static void cmd_keys(model_call *call)
{
    model_server *server = call->server;
    model_bytes   out    = { .size = 0 };
    size_t        at     = 0;
    size_t        count  = 0;
    model_entry  *entry;

    while ((entry = model_table_next(&server->data->keys[*call->database], &at)) != NULL) {
        model_text key = { entry->key, entry->size };
        if (model_value_has_expired(entry->value, model_now_ms(server)) ||
            !model_text_matches(key, call->argv[1]))
            continue;
        model_write_bulk(&out, key);
        count++;
    }
    model_reply_array(call, count);
    model_bytes_add(call->out, out.at, out.size);
    model_bytes_free(&out);
}

static void cmd_dbsize(model_call *call)
{
    model_reply_integer(call, call->server->data->keys[*call->database].count);
}

static void flush(model_call *call, unsigned first, unsigned last)
{
    if (call->argc > 2 ||
        (call->argc == 2 && !model_arg_is(call, 1, "ASYNC") && !model_arg_is(call, 1, "SYNC"))) {
        model_reply_syntax_error(call);
        return;
    }
    model_clear_databases(call->server, first, last);
    call->changes++;
    model_reply_ok(call);
}

static void cmd_flushdb(model_call *call)
{
    flush(call, *call->database, *call->database);
}

static void cmd_flushall(model_call *call)
{
    flush(call, 0, MODEL_DATABASES - 1);
}

static void cmd_rename(model_call *call)
{
    model_value *value = model_find_any(call, call->argv[1]);

    if (value == NULL) {
        model_reply_error(call, "ERR no such key");
        return;
    }
    if (!model_text_equal(call->argv[1], call->argv[2])) {
        model_value *copy = model_value_copy(value);
        (void)model_find_any(call, call->argv[2]);
        (void)model_delete(call, call->argv[1]);
        model_replace(call, call->argv[2], copy);
    }
    model_reply_ok(call);
}

static void cmd_swapdb(model_call *call)
{
    int64_t one;
    int64_t other;

    if (!model_take_integer(call, 1, "invalid first DB index", &one) ||
        !model_take_integer(call, 2, "invalid second DB index", &other))
        return;
    if (one < 0 || other < 0 || one >= MODEL_DATABASES || other >= MODEL_DATABASES) {
        model_reply_error(call, "ERR DB index is out of range");
        return;
    }
    model_swap_databases(call->server, (unsigned)one, (unsigned)other);
    call->changes++;
    model_reply_ok(call);
}

const model_command model_commands_keys[] = {
    { "del", cmd_del, -2, 1, -1, 1, CMD(WRITE) | CAT(KEYSPACE), NULL },
    { "unlink", cmd_del, -2, 1, -1, 1, CMD(WRITE) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "exists", cmd_exists, -2, 1, -1, 1, CMD(READ) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "touch", cmd_exists, -2, 1, -1, 1, CMD(READ) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "type", cmd_type, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "expire", cmd_expire, -3, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "pexpire", cmd_pexpire, -3, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "expireat", cmd_expireat, -3, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "pexpireat", cmd_pexpireat, -3, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "persist", cmd_persist, 2, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "ttl", cmd_ttl, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "pttl", cmd_pttl, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "expiretime", cmd_expiretime, 2, 1, 1, 1,
      CMD(READ) | CMD(FAST) | CMD(SINCE_7) | CAT(KEYSPACE), NULL },
    { "pexpiretime", cmd_pexpiretime, 2, 1, 1, 1,
      CMD(READ) | CMD(FAST) | CMD(SINCE_7) | CAT(KEYSPACE), NULL },
    { "keys", cmd_keys, 2, 0, 0, 0, CMD(READ) | CAT(KEYSPACE) | CAT(DANGEROUS), NULL },
    { "dbsize", cmd_dbsize, 1, 0, 0, 0, CMD(READ) | CMD(FAST) | CAT(KEYSPACE), NULL },
    { "flushdb", cmd_flushdb, -1, 0, 0, 0, CMD(WRITE) | CAT(KEYSPACE) | CAT(DANGEROUS), NULL },
    { "flushall", cmd_flushall, -1, 0, 0, 0, CMD(WRITE) | CAT(KEYSPACE) | CAT(DANGEROUS), NULL },
    { "rename", cmd_rename, 3, 1, 2, 1, CMD(WRITE) | CAT(KEYSPACE), NULL },
    { "swapdb", cmd_swapdb, 3, 0, 0, 0, CMD(WRITE) | CMD(FAST) | CAT(KEYSPACE) | CAT(DANGEROUS),
      NULL },
    { .name = NULL },
};
