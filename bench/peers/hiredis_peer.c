/*
 * hiredis_peer.c -- the driver of a careful program without a library: SET NX PX and a
 * compare-and-delete script by blocking hiredis.
 *
 *     hiredis-peer POLL_MS HOST PORT NAME
 *     hiredis-peer broken HOST PORT NAME
 *
 * A waiter tries again every POLL_MS. It also answers `ping`. `broken` takes every reply for
 * success, to test that the benchmark notices.
 */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/driver.h"

#define LEASE "30000"

static const char release_script[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

static long poll_ms;
static bool is_broken;

typedef struct client {
    redisContext *context;
    const char   *name;
    unsigned long attempts;
    char          sha1[41];
    char          token[48];
} client;

/* Frees the reply; -1 with `why` for an error or no reply. */
static int check(client *c, redisReply *reply, char *why)
{
    int status = reply != NULL && reply->type != REDIS_REPLY_ERROR ? 0 : -1;

    if (status < 0)
        (void)snprintf(why, PEER_WHY_MAX, "hiredis: %.150s",
                       reply != NULL ? reply->str : c->context->errstr);
    if (reply != NULL)
        freeReplyObject(reply);
    return status;
}

static void close_client(void *arg)
{
    client *c = arg;

    if (c->context != NULL)
        redisFree(c->context);
    free(c);
}

static int open_client(void **ret_client, const peer_place *place, char *why)
{
    client *c = calloc(1, sizeof *c);

    if (c == NULL)
        goto fail;
    c->name    = place->name;
    c->context = redisConnect(place->host, place->port);
    if (c->context == NULL || c->context->err != 0)
        goto fail;
    redisReply *reply = redisCommand(c->context, "SCRIPT LOAD %s", release_script);
    if (reply != NULL && reply->type == REDIS_REPLY_STRING && reply->len == 40)
        memcpy(c->sha1, reply->str, 40);
    if (check(c, reply, why) < 0) {
        close_client(c);
        return -1;
    }
    *ret_client = c;
    return 0;
fail:
    (void)snprintf(why, PEER_WHY_MAX, "hiredis: cannot connect: %s", strerror(errno));
    if (c != NULL)
        close_client(c);
    return -1;
}

static int acquire_client(void *arg, char *why)
{
    client *c = arg;

    for (;;) {
        (void)snprintf(c->token, sizeof c->token, "%p-%lu", arg, ++c->attempts);
        redisReply *reply   = redisCommand(c->context, "SET %s %s NX PX " LEASE, c->name, c->token);
        bool        is_mine = reply != NULL && reply->type == REDIS_REPLY_STATUS;
        if (check(c, reply, why) < 0)
            return -1;
        if (is_mine || is_broken)
            return 0;
        peer_sleep_us(poll_ms * 1000);
    }
}

static int release_client(void *arg, char *why)
{
    client *c = arg;

    return check(c, redisCommand(c->context, "EVALSHA %s 1 %s %s", c->sha1, c->name, c->token),
                 why);
}

static int ping_client(void *arg, char *why)
{
    client *c = arg;

    return check(c, redisCommand(c->context, "PING"), why);
}

int main(int argc, char **argv)
{
    static const peer_ways ways  = { .open    = open_client,
                                     .acquire = acquire_client,
                                     .release = release_client,
                                     .ping    = ping_client,
                                     .close   = close_client };
    peer_place             place = peer_place_of(argc, argv);

    if (argc > 4) {
        is_broken = strcmp(argv[1], "broken") == 0;
        poll_ms   = strtol(argv[1], NULL, 10);
    }
    return peer_serve(&ways, &place);
}
