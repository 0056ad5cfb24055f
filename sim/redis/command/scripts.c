/*
 * scripts.c -- EVAL, EVALSHA, SCRIPT.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/keyspace.h"
#include "sim/redis/script/script.h"

#include <ctype.h>
#include <string.h>

/* False: an error was replied. */
static bool take_key_count(model_call *call, size_t *ret_keys)
{
    int64_t keys;

    if (!model_take_integer(call, 2, NULL, &keys))
        return false;
    if (keys > (int64_t)call->argc - 3) {
        model_reply_error(call, "ERR Number of keys can't be greater than number of args");
        return false;
    }
    if (keys < 0) {
        model_reply_error(call, "ERR Number of keys can't be negative");
        return false;
    }
    *ret_keys = (size_t)keys;
    return true;
}

/* ---- releases -------------------------------------------------------------------------------- */

static uint64_t hash_of(model_text text)
{
    return model_hash(text.at, text.size);
}

enum { SHARES_KEY = 5 /* of a script: the members of a lock that clients share */ };

/* The argument is one of those that share the lock. */
static bool shares(model_call *call, size_t at)
{
    const model_value *value = model_find_any(call, call->argv[2 + SHARES_KEY]);
    double             ends_ms;

    return value != NULL && value->type == MODEL_ZSET &&
           model_zset_score(value, call->argv[at], &ends_ms) &&
           ends_ms > (double)model_now_ms(call->server);
}

/* The argument is the value of the first key, or shares it. */
static bool owns(model_call *call, size_t keys, size_t at)
{
    static const char gate[] = "b1:~";

    if (keys == 0 || call->argc <= 3 + keys)
        return false;
    const model_value *value = model_find_any(call, call->argv[3]);
    if (value == NULL || value->type != MODEL_STRING)
        return false;
    model_text text = model_bytes_text(&value->as.string);
    if (keys >= SHARES_KEY && text.size >= sizeof gate - 1 &&
        memcmp(text.at, gate, sizeof gate - 1) == 0) {
        const char *blank = memchr(text.at, ' ', text.size);
        if (blank == NULL)
            return shares(call, at);
        size_t before = (size_t)(blank + 1 - text.at); /* a gate of one has its value behind it */
        text          = (model_text){ .at = blank + 1, .size = text.size - before };
    }
    return model_text_equal(text, call->argv[at]);
}

/* Behind the release of a value its connection sends nothing but that release about it. */
static void compare_released(const model_call *call, model_text sha1, size_t keys)
{
    const model_owner *owner = &call->server->owner;

    if (call->link->released == 0 || owner->complain == NULL ||
        hash_of(sha1) == call->link->released_by)
        return;
    for (size_t i = 3 + keys; i < call->argc; i++) {
        if (hash_of(call->argv[i]) != call->link->released)
            continue;
        model_bytes text = { .size = 0 };
        model_bytes_print(&text, "token: %s names %.*s, which it has released, in the script %.8s",
                          call->link->address, (int)call->argv[i].size, call->argv[i].at, sha1.at);
        owner->complain(owner->arg, text.at);
        model_bytes_free(&text);
    }
}

/* A script that ends the ownership of its caller is a release, unless its last argument is the
 * value by which the caller owns it now. */
static void run(model_call *call, model_text sha1, size_t keys)
{
    bool was_owner = owns(call, keys, 3 + keys);

    call->link->has_run_script = true;
    compare_released(call, sha1, keys);
    model_script_run(call, sha1, keys);
    if (!was_owner || owns(call, keys, 3 + keys) || owns(call, keys, call->argc - 1))
        return;
    call->link->released    = hash_of(call->argv[3 + keys]);
    call->link->released_by = hash_of(sha1);
}

/* ---- the commands ---------------------------------------------------------------------------- */

static void cmd_eval(model_call *call)
{
    char   sha1[MODEL_SHA1_TEXT + 1];
    size_t keys;

    if (take_key_count(call, &keys) && model_script_load(call, call->argv[1], sha1))
        run(call, model_text_of(sha1), keys);
}

static bool lower(char ret_sha1[MODEL_SHA1_TEXT + 1], model_text text)
{
    if (text.size != MODEL_SHA1_TEXT)
        return false;
    for (size_t i = 0; i < MODEL_SHA1_TEXT; i++)
        ret_sha1[i] = (char)tolower((unsigned char)text.at[i]);
    ret_sha1[MODEL_SHA1_TEXT] = '\0';
    return true;
}

static void cmd_evalsha(model_call *call)
{
    char   sha1[MODEL_SHA1_TEXT + 1];
    size_t keys;
    bool   has_size = lower(sha1, call->argv[1]);

    if (has_size && !take_key_count(call, &keys))
        return;
    if (!has_size || !model_script_knows(call->server, model_text_of(sha1)))
        model_reply_error(call, "NOSCRIPT No matching script.%s",
                          call->server->version == MODEL_VALKEY_9 ? "" : " Please use EVAL.");
    else
        run(call, model_text_of(sha1), keys);
}

static void script_load(model_call *call)
{
    char sha1[MODEL_SHA1_TEXT + 1];

    if (model_script_load(call, call->argv[2], sha1))
        model_reply_text(call, sha1);
}

static void script_exists(model_call *call)
{
    char sha1[MODEL_SHA1_TEXT + 1];

    model_reply_array(call, call->argc - 2);
    for (size_t i = 2; i < call->argc; i++)
        model_reply_integer(call, lower(sha1, call->argv[i]) &&
                                      model_script_knows(call->server, model_text_of(sha1)));
}

static void script_flush(model_call *call)
{
    if (call->argc > 3 ||
        (call->argc == 3 && !model_arg_is(call, 2, "SYNC") && !model_arg_is(call, 2, "ASYNC"))) {
        model_reply_error(call, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    model_script_flush(call->server);
    model_reply_ok(call);
}

static void script_kill(model_call *call)
{
    model_reply_error(call, "NOTBUSY No scripts in execution right now.");
}

static const model_sub subs_script[] = {
    { "load", 3, script_load, false, false },
    { "exists", -3, script_exists, false, false },
    { "flush", -2, script_flush, false, false },
    { "kill", 2, script_kill, false, false },
    { .name = NULL },
};

const model_command model_commands_scripts[] = {
    { "eval", cmd_eval, -3, 0, 0, 0, CMD(NOSCRIPT) | CMD(STALE) | CMD(NUMKEYS) | CAT(SCRIPTING),
      NULL },
    { "evalsha", cmd_evalsha, -3, 0, 0, 0,
      CMD(NOSCRIPT) | CMD(STALE) | CMD(NUMKEYS) | CAT(SCRIPTING), NULL },
    { "script", model_run_sub, -2, 0, 0, 0, CMD(NOSCRIPT) | CMD(SUB) | CMD(STALE) | CAT(SCRIPTING),
      subs_script },
    { .name = NULL },
};
