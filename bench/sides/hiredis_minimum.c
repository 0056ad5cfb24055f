/*
 * hiredis_minimum.c -- see hiredis_minimum.h.
 */
#include "bench/sides/hiredis_minimum.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/redis/wire/key.h"
#include "engine/redis/wire/scripts.h"

#define LEASE "30000"

bench_text bench_minimum_version(void)
{
    return bench_text_of("%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}

static int failed(const bench_minimum *minimum, const redisReply *reply, bench_failure *reterr)
{
    const char *why = "an answer that was not expected";

    if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
        why = reply->str;
    else if (minimum->context == NULL)
        why = "out of memory";
    else if (minimum->context->err != 0)
        why = minimum->context->errstr;
    return bench_fail(reterr, (bench_failure){
                                  .what = bench_text_of("hiredis failed in a measure"),
                                  .why  = bench_text_of("%.200s", why),
                                  .type = bench_text_of("type: bowline-bench --list, and leave it "
                                                        "out by --only"),
                              });
}

/* Checks and frees the reply. Returns 0 if it is as expected. */
static int expect(const bench_minimum *minimum, redisReply *reply, bool is_right,
                  bench_failure *reterr)
{
    int status = is_right ? 0 : failed(minimum, reply, reterr);

    if (reply != NULL)
        freeReplyObject(reply);
    return status;
}

/* The argv form: hiredis parses no format string. */
static redisReply *say(bench_minimum *minimum, int count, const char **words, const size_t *sizes)
{
    return redisCommandArgv(minimum->context, count, words, sizes);
}

static bool is_integer(const redisReply *reply, long long number)
{
    return reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == number;
}

static bool is_status(const redisReply *reply, const char *text)
{
    return reply != NULL && reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, text) == 0;
}

int bench_minimum_open(bench_minimum *ret_minimum, int port, const char *name,
                       bench_failure *reterr)
{
    const bwl_script *script = &bwl_scripts[BWL_SCRIPT_DELETE_IF_MINE];
    bench_minimum     f      = { .context = redisConnect("127.0.0.1", port) };
    char              key[BWL_KEY_MAX];

    f.key_size = bwl_key_write(key, NULL, name, strlen(name));
    assert(f.key_size < sizeof f.key);
    memcpy(f.key, key, f.key_size);
    if (f.context == NULL || f.context->err != 0) {
        (void)failed(&f, NULL, reterr);
        goto fail;
    }
    const char  *words[] = { "SCRIPT", "LOAD", script->text };
    const size_t sizes[] = { 6, 4, script->size };
    redisReply  *reply   = say(&f, 3, words, sizes);
    bool         is_right =
        reply != NULL && reply->type == REDIS_REPLY_STRING && strcmp(reply->str, script->sha1) == 0;
    if (expect(&f, reply, is_right, reterr) < 0)
        goto fail;
    *ret_minimum = f;
    return 0;
fail:
    bench_minimum_close(&f);
    return -1;
}

void bench_minimum_close(bench_minimum *minimum)
{
    if (minimum->context != NULL)
        redisFree(minimum->context);
    minimum->context = NULL;
}

int bench_minimum_ping(void *arg, bench_failure *reterr)
{
    bench_minimum *f       = arg;
    const char    *words[] = { "PING" };
    const size_t   sizes[] = { 4 };
    redisReply    *reply   = say(f, 1, words, sizes);

    return expect(f, reply, is_status(reply, "PONG"), reterr);
}

int bench_minimum_pings(void *arg, bench_failure *reterr)
{
    if (bench_minimum_ping(arg, reterr) < 0)
        return -1;
    return bench_minimum_ping(arg, reterr);
}

/* A new token for each attempt. It is not random, which favours this side. */
static void draw_token(bench_minimum *f)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t          n        = ++f->attempts;

    for (unsigned i = 0; i < BENCH_TOKEN_SIZE; i++, n /= 16)
        f->token[i] = digits[n % 16];
}

int bench_minimum_pair(void *arg, bench_failure *reterr)
{
    bench_minimum *f = arg;

    draw_token(f);
    const char  *set[]       = { "SET", f->key, f->token, "NX", "PX", LEASE };
    const size_t set_sizes[] = { 3, f->key_size, BENCH_TOKEN_SIZE, 2, 2, sizeof LEASE - 1 };
    redisReply  *reply       = say(f, 6, set, set_sizes);
    if (expect(f, reply, is_status(reply, "OK"), reterr) < 0)
        return -1;

    const char *delete[] = { "EVALSHA", bwl_scripts[BWL_SCRIPT_DELETE_IF_MINE].sha1, "1", f->key,
                             f->token };
    const size_t del_sizes[] = { 7, 40, 1, f->key_size, BENCH_TOKEN_SIZE };
    reply                    = say(f, 5, delete, del_sizes);
    return expect(f, reply, is_integer(reply, 1), reterr);
}

int bench_minimum_add_one(bench_minimum *minimum, const char *key, bench_failure *reterr)
{
    const char  *get[]       = { "GET", key };
    const size_t get_sizes[] = { 3, strlen(key) };
    char         text[24];

    redisReply *reply = say(minimum, 2, get, get_sizes);
    bool        is_no = reply != NULL && reply->type == REDIS_REPLY_NIL;
    bool        is_it = reply != NULL && reply->type == REDIS_REPLY_STRING;
    long long   sum   = is_it ? strtoll(reply->str, NULL, 10) : 0;
    if (expect(minimum, reply, is_no || is_it, reterr) < 0)
        return -1;
    int          size        = snprintf(text, sizeof text, "%lld", sum + 1);
    const char  *set[]       = { "SET", key, text };
    const size_t set_sizes[] = { 3, strlen(key), (size_t)size };
    reply                    = say(minimum, 3, set, set_sizes);
    return expect(minimum, reply, is_status(reply, "OK"), reterr);
}

/* ---- questions ------------------------------------------------------------------------------- */

int bench_minimum_number(bench_minimum *minimum, const char *command, int64_t *ret_number,
                         bench_failure *reterr)
{
    redisReply *reply = redisCommand(minimum->context, command);
    bool        is_right =
        reply != NULL && (reply->type == REDIS_REPLY_INTEGER || reply->type == REDIS_REPLY_STATUS);

    if (is_right)
        *ret_number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    return expect(minimum, reply, is_right, reterr);
}

int bench_minimum_info(bench_minimum *minimum, const char *field, int64_t *ret_number,
                       bench_failure *reterr)
{
    redisReply *reply = redisCommand(minimum->context, "INFO memory");
    const char *at    = NULL;
    char        line[64];

    (void)snprintf(line, sizeof line, "\n%s:", field);
    if (reply != NULL && reply->type == REDIS_REPLY_STRING)
        at = strstr(reply->str, line);
    if (at != NULL)
        *ret_number = strtoll(at + strlen(line), NULL, 10);
    return expect(minimum, reply, at != NULL, reterr);
}

int bench_minimum_set_later(bench_minimum *minimum, const char *name, bench_failure *reterr)
{
    char   key[BWL_KEY_MAX];
    char   token[17];
    size_t key_size = bwl_key_write(key, NULL, name, strlen(name));

    (void)snprintf(token, sizeof token, "t%015" PRIx64, ++minimum->attempts);
    const char  *words[] = { "SET", key, token, "PX", "600000" };
    const size_t sizes[] = { 3, key_size, 16, 2, 6 };
    if (redisAppendCommandArgv(minimum->context, 5, words, sizes) != REDIS_OK)
        return failed(minimum, NULL, reterr);
    return 0;
}

int bench_minimum_await(bench_minimum *minimum, size_t count, bench_failure *reterr)
{
    for (size_t i = 0; i < count; i++) {
        void *reply = NULL;
        if (redisGetReply(minimum->context, &reply) != REDIS_OK)
            return failed(minimum, NULL, reterr);
        if (expect(minimum, reply, is_status(reply, "OK"), reterr) < 0)
            return -1;
    }
    return 0;
}
