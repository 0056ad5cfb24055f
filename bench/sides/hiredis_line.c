/*
 * hiredis_line.c -- see hiredis_line.h.
 */
#include "bench/sides/hiredis_line.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/redis/wire/scripts.h"

#define KEY     "bowline:{bench-line}"
#define SESSION "b1:AAAAAAAAA"
#define HOLDER  SESSION "BBBBBBBBBBBBBBBB"
#define WAITER  SESSION "CCCCCCCCCCCCCCCC"
#define INBOX   "bowline:i:DDDDDDDDDDDDDDDDDDDDDD"
#define MEMBER  WAITER " 1.0123456789abcdef " INBOX " 2000"

/* hiredis 0.14 reads only RESP2: so use PUBLISH and a second connection. */
#define SAY "PUBLISH"

enum { WORDS_MAX = 16 };

/* Fails unless the reply has this type, and this number if it is one. Frees it. */
static int expect(const redisContext *context, redisReply *reply, int type, long long number,
                  bench_failure *reterr)
{
    bool is_right = reply != NULL && reply->type == type &&
                    (type != REDIS_REPLY_INTEGER || reply->integer == number);
    const char *why = context->err != 0 ? context->errstr : "an answer that was not expected";

    if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
        why = reply->str;
    if (!is_right)
        (void)bench_fail(reterr, (bench_failure){
                                     .what = bench_text_of("hiredis failed in a measure"),
                                     .why  = bench_text_of("%.200s", why),
                                     .type = bench_text_of("type: bowline-bench --list, and leave "
                                                           "it out by --only"),
                                 });
    if (reply != NULL)
        freeReplyObject(reply);
    return is_right ? 0 : -1;
}

/* `words` ends with NULL. */
static redisReply *say(redisContext *context, const char *const words[])
{
    const char *copies[WORDS_MAX];
    int         count = 0;

    for (; words[count] != NULL; count++)
        copies[count] = words[count];
    return redisCommandArgv(context, count, copies, NULL);
}

static int load(redisContext *context, bwl_script_id id, bench_failure *reterr)
{
    const char *const words[] = { "SCRIPT", "LOAD", bwl_scripts[id].text, NULL };

    return expect(context, say(context, words), REDIS_REPLY_STRING, 0, reterr);
}

static int reach(redisContext **ret_context, int port, bench_failure *reterr)
{
    redisContext *context = redisConnect("127.0.0.1", port);

    *ret_context = context;
    if (context == NULL)
        return bench_fail_errno(reterr, bench_text_of("cannot connect"));
    return context->err == 0 ? 0 : expect(context, NULL, 0, 0, reterr);
}

int bench_line_open(bench_line *ret_line, int port, bench_failure *reterr)
{
    const char *const listens[] = { "SUBSCRIBE", INBOX, NULL };
    bench_line        line      = { .holder = NULL };

    if (reach(&line.holder, port, reterr) == 0 && reach(&line.waiter, port, reterr) == 0 &&
        reach(&line.inbox, port, reterr) == 0 &&
        load(line.holder, BWL_SCRIPT_QUEUE_JOIN, reterr) == 0 &&
        load(line.holder, BWL_SCRIPT_QUEUE_RELEASE, reterr) == 0 &&
        expect(line.inbox, say(line.inbox, listens), REDIS_REPLY_ARRAY, 0, reterr) == 0) {
        *ret_line = line;
        return 0;
    }
    bench_line_close(&line);
    return -1;
}

static void leave(redisContext *context)
{
    if (context != NULL)
        redisFree(context);
}

void bench_line_close(bench_line *line)
{
    leave(line->holder);
    leave(line->waiter);
    leave(line->inbox);
    *line = (bench_line){ .holder = NULL };
}

#define SCRIPT_WORDS(id) \
    "EVALSHA", bwl_scripts[id].sha1, "4", KEY, KEY ":bwl.q", KEY ":bwl.b", "bowline:f"

int bench_line_take(bench_line *line, bench_failure *reterr)
{
    const char *const words[] = { "SET", KEY, HOLDER, "PX", "30000", NULL };

    return expect(line->holder, say(line->holder, words), REDIS_REPLY_STATUS, 0, reterr);
}

int bench_line_wait(bench_line *line, bench_failure *reterr)
{
    const char *const words[] = {
        SCRIPT_WORDS(BWL_SCRIPT_QUEUE_JOIN), WAITER, "30000", SAY, MEMBER, "0", "0", NULL
    };
    void *told = NULL;

    if (expect(line->waiter, say(line->waiter, words), REDIS_REPLY_ARRAY, 0, reterr) < 0)
        return -1;
    (void)redisGetReply(line->inbox, &told);
    return expect(line->inbox, told, REDIS_REPLY_ARRAY, 0, reterr);
}

int bench_line_release(bench_line *line, bench_failure *reterr)
{
    const char *const words[] = { SCRIPT_WORDS(BWL_SCRIPT_QUEUE_RELEASE), HOLDER, SAY, NULL };

    int status = expect(line->holder, say(line->holder, words), REDIS_REPLY_INTEGER, 1, reterr);
    if (status < 0) /* the waiter would get no message */
        (void)shutdown(line->inbox->fd, SHUT_RDWR);
    return status;
}
