/*
 * hiredis_queue.c -- see hiredis_queue.h.
 */
#include "bench/sides/hiredis_queue.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/redis/wire/scripts.h"

#define KEY          "bowline:{bench-queue}"
#define SESSION      "b1:AAAAAAAAA"
#define HOLDER       SESSION "BBBBBBBBBBBBBBBB"
#define WAITER       SESSION "CCCCCCCCCCCCCCCC"
#define PUSH_CHANNEL "bowline:i:DDDDDDDDDDDDDDDDDDDDDD"
#define MEMBER       WAITER " 1.0123456789abcdef " PUSH_CHANNEL " 2000"

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

int bench_queue_open(bench_queue *ret_queue, int port, bench_failure *reterr)
{
    const char *const subscribe[] = { "SUBSCRIBE", PUSH_CHANNEL, NULL };
    bench_queue       queue       = { .holder = NULL };

    if (reach(&queue.holder, port, reterr) == 0 && reach(&queue.waiter, port, reterr) == 0 &&
        reach(&queue.push_channel, port, reterr) == 0 &&
        load(queue.holder, BWL_SCRIPT_QUEUE_JOIN, reterr) == 0 &&
        load(queue.holder, BWL_SCRIPT_QUEUE_RELEASE, reterr) == 0 &&
        expect(queue.push_channel, say(queue.push_channel, subscribe), REDIS_REPLY_ARRAY, 0,
               reterr) == 0) {
        *ret_queue = queue;
        return 0;
    }
    bench_queue_close(&queue);
    return -1;
}

static void leave(redisContext *context)
{
    if (context != NULL)
        redisFree(context);
}

void bench_queue_close(bench_queue *queue)
{
    leave(queue->holder);
    leave(queue->waiter);
    leave(queue->push_channel);
    *queue = (bench_queue){ .holder = NULL };
}

#define SCRIPT_WORDS(id) \
    "EVALSHA", bwl_scripts[id].sha1, "4", KEY, KEY ":bwl.q", KEY ":bwl.b", "bowline:f"

int bench_queue_take(bench_queue *queue, bench_failure *reterr)
{
    const char *const words[] = { "SET", KEY, HOLDER, "PX", "30000", NULL };

    return expect(queue->holder, say(queue->holder, words), REDIS_REPLY_STATUS, 0, reterr);
}

int bench_queue_wait(bench_queue *queue, bench_failure *reterr)
{
    const char *const words[] = {
        SCRIPT_WORDS(BWL_SCRIPT_QUEUE_JOIN), WAITER, "30000", SAY, MEMBER, "0", "0", NULL
    };
    void *message = NULL;

    if (expect(queue->waiter, say(queue->waiter, words), REDIS_REPLY_ARRAY, 0, reterr) < 0)
        return -1;
    (void)redisGetReply(queue->push_channel, &message);
    return expect(queue->push_channel, message, REDIS_REPLY_ARRAY, 0, reterr);
}

int bench_queue_release(bench_queue *queue, bench_failure *reterr)
{
    const char *const words[] = { SCRIPT_WORDS(BWL_SCRIPT_QUEUE_RELEASE), HOLDER, SAY, NULL };

    int status = expect(queue->holder, say(queue->holder, words), REDIS_REPLY_INTEGER, 1, reterr);
    if (status < 0) /* the waiter would get no message */
        (void)shutdown(queue->push_channel->fd, SHUT_RDWR);
    return status;
}
