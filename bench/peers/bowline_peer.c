/*
 * bowline_peer.c -- the driver program of the library.
 *
 *     bowline-peer QUERY HOST PORT NAME
 *
 * QUERY is the part of the URL after the ?, or "": protocol=queue. Every waiter of a crowd has its
 * own client, like a process of its own.
 */
#include <bowline/bowline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/driver.h"

enum { URL_MAX = 512 };

static const char *query;

typedef struct ours {
    bowline_client *client;
    bowline_hold   *hold;
    const char     *name;
} ours;

static int usage_failed(char *why, const bowline_error *error)
{
    (void)snprintf(why, PEER_WHY_MAX, "%.190s", error->text);
    return -1;
}

static int open_ours(void **ret_client, const peer_place *place, char *why)
{
    bowline_error error;
    char          url[URL_MAX];
    ours         *o = calloc(1, sizeof *o);

    if (o == NULL) {
        (void)snprintf(why, PEER_WHY_MAX, "out of memory");
        return -1;
    }
    (void)snprintf(url, sizeof url, "redis://%s:%d%s%s", place->host, place->port,
                   query[0] != '\0' ? "?" : "", query);
    o->name = place->name;
    if (bowline_open(&o->client, BOWLINE_OPTIONS(.url = url), &error) < 0) {
        free(o);
        return usage_failed(why, &error);
    }
    *ret_client = o;
    return 0;
}

static int acquire_ours(void *client, char *why)
{
    ours         *o = client;
    bowline_error error;

    if (bowline_acquire(&o->hold, o->client, o->name, BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER),
                        &error) < 0)
        return usage_failed(why, &error);
    return 0;
}

static int release_ours(void *client, char *why)
{
    ours         *o = client;
    bowline_error error;

    if (bowline_release(o->hold, &error) < 0)
        return usage_failed(why, &error);
    return 0;
}

static void close_ours(void *client)
{
    ours *o = client;

    bowline_close(o->client);
    free(o);
}

int main(int argc, char **argv)
{
    static const peer_ways ways = {
        .open = open_ours, .acquire = acquire_ours, .release = release_ours, .close = close_ours
    };
    peer_place place = peer_place_of(argc, argv);

    query = argc > 4 ? argv[1] : "";
    return peer_serve(&ways, &place);
}
