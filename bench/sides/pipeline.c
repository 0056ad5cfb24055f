/*
 * pipeline.c -- see pipeline.h.
 */
#include "bench/sides/pipeline.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "engine/redis/wire/key.h"
#include "engine/redis/wire/scripts.h"

#define LEASE "30000"

typedef struct words {
    const char *words[6];
    size_t      sizes[6];
    int         count;
} words;

static int failed(const bench_pipeline *p, bench_failure *reterr)
{
    const redisContext *context = p->minimum->context;

    return bench_fail(
        reterr, (bench_failure){
                    .what = bench_text_of("hiredis failed in a measure"),
                    .why  = bench_text_of("%.200s", context->err != 0 ? context->errstr
                                                                      : "an answer that was not "
                                                                        "expected"),
                    .type = bench_text_of("type: bowline-bench --list, and leave it "
                                          "out by --only"),
                });
}

bench_text bench_pipeline_name(unsigned i)
{
    return bench_text_of("bench-deep-%u", i);
}

void bench_pipeline_plan(bench_pipeline *ret_pipeline, bench_minimum *minimum, unsigned depth)
{
    bench_pipeline *p = ret_pipeline;

    assert(depth >= 1 && depth <= BENCH_DEPTH_MAX);
    p->minimum  = minimum;
    p->depth    = depth;
    p->attempts = 0;
    for (unsigned i = 0; i < depth; i++) {
        char       key[BWL_KEY_MAX];
        bench_text name = bench_pipeline_name(i);
        p->key_sizes[i] = bwl_key_write(key, NULL, name.text, strlen(name.text));
        assert(p->key_sizes[i] <= BENCH_KEY_MAX);
        memcpy(p->keys[i], key, p->key_sizes[i]);
    }
}

static int say(bench_pipeline *p, const words *w, bench_failure *reterr)
{
    const char **texts = (const char **)(uintptr_t)w->words; /* hiredis does not write to them */

    if (redisAppendCommandArgv(p->minimum->context, w->count, texts, w->sizes) != REDIS_OK)
        return failed(p, reterr);
    return 0;
}

/* All replies: OK or 1. */
static int hear(bench_pipeline *p, bench_failure *reterr)
{
    for (unsigned i = 0; i < p->depth; i++) {
        redisReply *reply = NULL;
        if (redisGetReply(p->minimum->context, (void **)&reply) != REDIS_OK)
            return failed(p, reterr);
        bool is_right = (reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0) ||
                        (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
        freeReplyObject(reply);
        if (!is_right)
            return failed(p, reterr);
    }
    return 0;
}

/* As long as that of the library; new for each attempt. */
static void write_token(const bench_pipeline *p, unsigned i, char ret_token[BENCH_TOKEN_SIZE + 1])
{
    (void)snprintf(ret_token, BENCH_TOKEN_SIZE + 1, "%016" PRIx64 "%06x", p->attempts, i);
}

static int set_all(bench_pipeline *p, bool only_absent, bench_failure *reterr)
{
    char token[BENCH_TOKEN_SIZE + 1];

    for (unsigned i = 0; i < p->depth; i++) {
        write_token(p, i, token);
        words w = { .words = { "SET", p->keys[i], token, "PX", LEASE, "NX" },
                    .sizes = { 3, p->key_sizes[i], BENCH_TOKEN_SIZE, 2, sizeof LEASE - 1, 2 },
                    .count = only_absent ? 6 : 5 };
        if (say(p, &w, reterr) < 0)
            return -1;
    }
    return hear(p, reterr);
}

int bench_pipeline_pairs(void *arg, bench_failure *reterr)
{
    const bwl_script *script = &bwl_scripts[BWL_SCRIPT_DELETE_IF_MINE];
    bench_pipeline   *p      = arg;
    char              token[BENCH_TOKEN_SIZE + 1];

    p->attempts++;
    if (set_all(p, true, reterr) < 0)
        return -1;
    for (unsigned i = 0; i < p->depth; i++) {
        write_token(p, i, token);
        words w = { .words = { "EVALSHA", script->sha1, "1", p->keys[i], token },
                    .sizes = { 7, 40, 1, p->key_sizes[i], BENCH_TOKEN_SIZE },
                    .count = 5 };
        if (say(p, &w, reterr) < 0)
            return -1;
    }
    return hear(p, reterr);
}

int bench_pipeline_set(bench_pipeline *pipeline, bench_failure *reterr)
{
    return set_all(pipeline, false, reterr);
}

int bench_pipeline_renew(void *arg, bench_failure *reterr)
{
    bench_pipeline *p = arg;

    for (unsigned i = 0; i < p->depth; i++) {
        words w = { .words = { "PEXPIRE", p->keys[i], LEASE },
                    .sizes = { 7, p->key_sizes[i], sizeof LEASE - 1 },
                    .count = 3 };
        if (say(p, &w, reterr) < 0)
            return -1;
    }
    return hear(p, reterr);
}
