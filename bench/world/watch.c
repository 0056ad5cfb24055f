/*
 * watch.c -- see watch.h.
 */
#include "bench/world/watch.h"

#include <assert.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The last command to count: its sender has received all earlier replies. */
#define LAST_COMMAND "bowline-bench-end"

static int failed(const redisContext *context, bench_failure *reterr)
{
    return bench_fail(reterr,
                      (bench_failure){
                          .what = bench_text_of("the server could not be watched"),
                          .why  = bench_text_of("%.200s", context != NULL && context->err != 0
                                                              ? context->errstr
                                                              : "an answer that was not expected"),
                          .type = bench_text_of("type: bowline-bench --list, and leave it out by "
                                                "--only"),
                      });
}

static int connect_to(redisContext **ret_context, int port, bench_failure *reterr)
{
    redisContext *context = redisConnect("127.0.0.1", port);

    if (context == NULL || context->err != 0) {
        (void)failed(context, reterr);
        if (context != NULL)
            redisFree(context);
        return -1;
    }
    *ret_context = context;
    return 0;
}

/* Frees the reply. */
static int expect(redisContext *context, redisReply *reply, bench_failure *reterr)
{
    bool is_right = reply != NULL && reply->type != REDIS_REPLY_ERROR;

    if (reply != NULL)
        freeReplyObject(reply);
    return is_right ? 0 : failed(context, reterr);
}

int bench_watch_open(bench_watch *ret_watch, int port, bench_failure *reterr)
{
    return connect_to(&ret_watch->info, port, reterr);
}

void bench_watch_close(bench_watch *watch)
{
    bench_failure none;
    double        commands;

    if (watch->monitor != NULL)
        (void)bench_watch_end(watch, &commands, &none);
    if (watch->info != NULL)
        redisFree(watch->info);
    watch->info = NULL;
}

static double field_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at != NULL ? strtod(at + strlen(name), NULL) : 0;
}

int bench_watch_cpu(bench_watch *watch, double *ret_us, bench_failure *reterr)
{
    redisReply *reply = redisCommand(watch->info, "INFO cpu");

    if (reply != NULL && reply->type == REDIS_REPLY_STRING)
        *ret_us =
            (field_of(reply->str, "used_cpu_user:") + field_of(reply->str, "used_cpu_sys:")) * 1e6;
    return expect(watch->info, reply, reterr);
}

int bench_watch_flush(bench_watch *watch, bench_failure *reterr)
{
    return expect(watch->info, redisCommand(watch->info, "FLUSHALL"), reterr);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* 1700000000.000000 [0 127.0.0.1:40000] "set" ...; inside of a script it is [0 lua]. */
static bool is_of_a_client(const char *line)
{
    const char *end = strchr(line, ']');

    return end != NULL && end - line >= 4 && memcmp(end - 4, " lua", 4) != 0;
}

static void add_one(bench_watch *w, const char *line)
{
    for (unsigned i = 0; i < BENCH_APART_MAX; i++)
        if (w->apart[i] != NULL && strstr(line, w->apart[i]) != NULL) {
            w->apart_commands[i]++;
            return;
        }
    w->commands++;
}

static void *count(void *arg)
{
    bench_watch *w = arg;

    for (bool is_last = false; !is_last;) {
        redisReply *reply = NULL;
        if (redisGetReply(w->monitor, (void **)&reply) != REDIS_OK || reply == NULL)
            break;
        is_last = strstr(reply->str, LAST_COMMAND) != NULL;
        if (!is_last && is_of_a_client(reply->str))
            add_one(w, reply->str);
        freeReplyObject(reply);
    }
    return NULL;
}

int bench_watch_begin(bench_watch *watch, int port, bench_failure *reterr)
{
    assert(watch->monitor == NULL);
    watch->commands = 0;
    for (unsigned i = 0; i < BENCH_APART_MAX; i++)
        watch->apart_commands[i] = 0;
    if (connect_to(&watch->monitor, port, reterr) < 0)
        return -1;
    if (expect(watch->monitor, redisCommand(watch->monitor, "MONITOR"), reterr) < 0)
        goto fail;
    errno = pthread_create(&watch->thread, NULL, count, watch);
    if (errno == 0)
        return 0;
    (void)bench_fail_errno(reterr, bench_text_of("cannot start a thread"));
fail:
    redisFree(watch->monitor);
    watch->monitor = NULL;
    return -1;
}

int bench_watch_end(bench_watch *watch, double *ret_commands, bench_failure *reterr)
{
    int status = expect(watch->info, redisCommand(watch->info, "ECHO " LAST_COMMAND), reterr);

    if (status < 0)
        (void)shutdown(watch->monitor->fd, SHUT_RDWR); /* the last command will not come */
    (void)pthread_join(watch->thread, NULL);
    redisFree(watch->monitor);
    watch->monitor = NULL;
    *ret_commands  = (double)watch->commands;
    return status;
}
