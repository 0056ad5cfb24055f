/*
 * hashes.c -- hashes, and the few commands of sets that a program uses to have another type of key.
 */
#include "sim/redis/command/key_commands.h"

static void refuse_count(model_call *call)
{
    model_reply_error(call, "ERR wrong number of arguments for '%s' command", call->command->name);
}

/* Returns how many fields are new, or -1. */
static int64_t set_fields(model_call *call)
{
    model_value *hash;
    int64_t      added = 0;

    if (call->argc % 2 != 0) {
        refuse_count(call);
        return -1;
    }
    if (!model_find(call, call->argv[1], MODEL_HASH, &hash))
        return -1;
    if (hash == NULL)
        hash = model_create(call, call->argv[1], MODEL_HASH);
    for (size_t i = 2; i < call->argc; i += 2)
        added += model_hash_set(hash, call->argv[i], call->argv[i + 1]);
    model_changed(call, call->argv[1], hash);
    return added;
}

static void cmd_hset(model_call *call)
{
    int64_t added = set_fields(call);

    if (added >= 0)
        model_reply_integer(call, added);
}

static void cmd_hmset(model_call *call)
{
    if (set_fields(call) >= 0)
        model_reply_ok(call);
}

static void cmd_hsetnx(model_call *call)
{
    model_value *hash;

    if (!model_find(call, call->argv[1], MODEL_HASH, &hash))
        return;
    bool is_new = hash == NULL || model_hash_get(hash, call->argv[2]) == NULL;
    if (is_new) {
        if (hash == NULL)
            hash = model_create(call, call->argv[1], MODEL_HASH);
        (void)model_hash_set(hash, call->argv[2], call->argv[3]);
        model_changed(call, call->argv[1], hash);
    }
    model_reply_integer(call, is_new);
}

static void reply_field(model_call *call, const model_value *hash, model_text field)
{
    const model_bytes *text = hash != NULL ? model_hash_get(hash, field) : NULL;

    if (text != NULL)
        model_reply_bulk(call, model_bytes_text(text));
    else
        model_reply_null(call);
}

static void cmd_hget(model_call *call)
{
    model_value *hash;

    if (model_find(call, call->argv[1], MODEL_HASH, &hash))
        reply_field(call, hash, call->argv[2]);
}

static void cmd_hmget(model_call *call)
{
    model_value *hash;

    if (!model_find(call, call->argv[1], MODEL_HASH, &hash))
        return;
    model_reply_array(call, call->argc - 2);
    for (size_t i = 2; i < call->argc; i++)
        reply_field(call, hash, call->argv[i]);
}

static void reply_all(model_call *call, bool fields, bool values)
{
    model_value *hash;
    size_t       at = 0;
    model_entry *entry;

    if (!model_find(call, call->argv[1], MODEL_HASH, &hash))
        return;
    size_t count = hash != NULL ? model_value_count(hash) : 0;
    if (fields && values)
        model_reply_map(call, count);
    else
        model_reply_array(call, count);
    while (hash != NULL && (entry = model_table_next(&hash->as.table, &at)) != NULL) {
        if (fields)
            model_reply_bulk(call, (model_text){ entry->key, entry->size });
        if (values)
            model_reply_bulk(call, model_bytes_text(entry->value));
    }
}

static void cmd_hgetall(model_call *call)
{
    reply_all(call, true, true);
}

static void cmd_hkeys(model_call *call)
{
    reply_all(call, true, false);
}

static void cmd_hvals(model_call *call)
{
    reply_all(call, false, true);
}

static void cmd_hlen(model_call *call)
{
    model_value *hash;

    if (model_find(call, call->argv[1], MODEL_HASH, &hash))
        model_reply_integer(call, hash != NULL ? (int64_t)model_value_count(hash) : 0);
}

static void cmd_hexists(model_call *call)
{
    model_value *hash;

    if (model_find(call, call->argv[1], MODEL_HASH, &hash))
        model_reply_integer(call, hash != NULL && model_hash_get(hash, call->argv[2]) != NULL);
}

static void cmd_hdel(model_call *call)
{
    model_value *hash;
    int64_t      count = 0;

    if (!model_find(call, call->argv[1], MODEL_HASH, &hash))
        return;
    for (size_t i = 2; hash != NULL && i < call->argc; i++)
        count += model_hash_remove(hash, call->argv[i]);
    if (count != 0)
        model_changed(call, call->argv[1], hash);
    model_reply_integer(call, count);
}

static void cmd_hincrby(model_call *call)
{
    model_value       *hash;
    const model_bytes *text = NULL;
    int64_t            by;
    int64_t            number = 0;

    if (!model_take_integer(call, 3, NULL, &by) ||
        !model_find(call, call->argv[1], MODEL_HASH, &hash))
        return;
    if (hash != NULL)
        text = model_hash_get(hash, call->argv[2]);
    if (text != NULL && !model_text_integer(model_bytes_text(text), &number)) {
        model_reply_error(call, "ERR hash value is not an integer");
        return;
    }
    if (__builtin_add_overflow(number, by, &number)) {
        model_reply_error(call, "ERR increment or decrement would overflow");
        return;
    }
    if (hash == NULL)
        hash = model_create(call, call->argv[1], MODEL_HASH);
    model_bytes digits = { .size = 0 };
    model_bytes_add_integer(&digits, number);
    (void)model_hash_set(hash, call->argv[2], model_bytes_text(&digits));
    model_bytes_free(&digits);
    model_changed(call, call->argv[1], hash);
    model_reply_integer(call, number);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static void cmd_sadd(model_call *call)
{
    model_value *set;
    int64_t      added = 0;

    if (!model_find(call, call->argv[1], MODEL_SET, &set))
        return;
    if (set == NULL)
        set = model_create(call, call->argv[1], MODEL_SET);
    for (size_t i = 2; i < call->argc; i++) {
        bool is_new;
        (void)model_table_add(&set->as.table, call->argv[i], &is_new);
        added += is_new;
    }
    if (added != 0)
        model_changed(call, call->argv[1], set);
    model_reply_integer(call, added);
}

static void cmd_srem(model_call *call)
{
    model_value *set;
    int64_t      count = 0;
    void        *nothing;

    if (!model_find(call, call->argv[1], MODEL_SET, &set))
        return;
    for (size_t i = 2; set != NULL && i < call->argc; i++)
        count += model_table_remove(&set->as.table, call->argv[i], &nothing);
    if (count != 0)
        model_changed(call, call->argv[1], set);
    model_reply_integer(call, count);
}

static void cmd_scard(model_call *call)
{
    model_value *set;

    if (model_find(call, call->argv[1], MODEL_SET, &set))
        model_reply_integer(call, set != NULL ? (int64_t)model_value_count(set) : 0);
}

static void cmd_sismember(model_call *call)
{
    model_value *set;

    if (model_find(call, call->argv[1], MODEL_SET, &set))
        model_reply_integer(call,
                            set != NULL && model_table_find(&set->as.table, call->argv[2]) != NULL);
}

/* In the order of insertion; Redis has another. */
static void cmd_smembers(model_call *call)
{
    model_value *set;
    size_t       at = 0;
    model_entry *entry;

    if (!model_find(call, call->argv[1], MODEL_SET, &set))
        return;
    model_reply_set(call, set != NULL ? model_value_count(set) : 0);
    while (set != NULL && (entry = model_table_next(&set->as.table, &at)) != NULL)
        model_reply_bulk(call, (model_text){ entry->key, entry->size });
}

const model_command model_commands_hashes[] = {
    { "hset", cmd_hset, -4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(HASH), NULL },
    { "hmset", cmd_hmset, -4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(HASH), NULL },
    { "hsetnx", cmd_hsetnx, 4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(HASH), NULL },
    { "hget", cmd_hget, 3, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(HASH), NULL },
    { "hmget", cmd_hmget, -3, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(HASH), NULL },
    { "hgetall", cmd_hgetall, 2, 1, 1, 1, CMD(READ) | CAT(HASH), NULL },
    { "hkeys", cmd_hkeys, 2, 1, 1, 1, CMD(READ) | CAT(HASH), NULL },
    { "hvals", cmd_hvals, 2, 1, 1, 1, CMD(READ) | CAT(HASH), NULL },
    { "hlen", cmd_hlen, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(HASH), NULL },
    { "hexists", cmd_hexists, 3, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(HASH), NULL },
    { "hdel", cmd_hdel, -3, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(HASH), NULL },
    { "hincrby", cmd_hincrby, 4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(HASH), NULL },
    { "sadd", cmd_sadd, -3, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(SET), NULL },
    { "srem", cmd_srem, -3, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(SET), NULL },
    { "scard", cmd_scard, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(SET), NULL },
    { "sismember", cmd_sismember, 3, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(SET), NULL },
    { "smembers", cmd_smembers, 2, 1, 1, 1, CMD(READ) | CAT(SET), NULL },
    { .name = NULL },
};
