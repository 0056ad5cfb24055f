/*
 * redis_pipe.c -- the model of a Redis server behind a pipe, so that a test in Python can drive it.
 *
 *      redis_pipe VERSION [cluster]      VERSION: 6.2, 7.0 or valkey
 *
 * Each request is a letter, a number of 4 bytes, a size of 4 bytes and as many bytes,
 * little-endian:
 *
 *      t 0 now        the time from now on, microseconds in decimal
 *      o LINK         a new link            c LINK     it is closed
 *      f LINK bytes   its client writes     k 0        a tick
 *      d 0            the dataset as text   r 0        "1" if a replica has the same dataset
 *      v 0 ports      of a cluster, the ports of two nodes: half of the slots each, of which the
 *                     first gives slot 3300 to the second and gets slot 15495 from it
 *
 * Answers are of the same form: s LINK bytes, x LINK (closed by the server), d 0 text; at last . 0.
 * After each request that may write, the effects go to a second server, the replica.
 */
#include "sim/redis/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_MAX = 64 };

typedef struct pipe_world {
    model_server *server;
    model_server *replica;
    model_link   *links[LINKS_MAX];
    uint64_t      applied;
    uint64_t      random;
    int64_t       now_us;
} pipe_world;

static void answer(char letter, uint32_t number, const char *bytes, size_t size)
{
    uint32_t head[2] = { number, (uint32_t)size };

    (void)fputc(letter, stdout);
    (void)fwrite(head, sizeof head, 1, stdout);
    if (size != 0)
        (void)fwrite(bytes, size, 1, stdout);
}

static void on_send(void *arg, void *link_data, const char *bytes, size_t size)
{
    (void)arg;
    answer('s', (uint32_t)(uintptr_t)link_data, bytes, size);
}

static void on_close(void *arg, void *link_data)
{
    (void)arg;
    answer('x', (uint32_t)(uintptr_t)link_data, NULL, 0);
}

static uint64_t on_random(void *arg)
{
    pipe_world *world = arg;

    world->random = world->random * 6364136223846793005u + 1442695040888963407u;
    return world->random >> 11;
}

static void replicate(pipe_world *world)
{
    const char *bytes;
    size_t      size;

    if (!model_server_effects(world->server, world->applied, &bytes, &size) || size == 0)
        return;
    model_server_apply(world->replica, bytes, size, world->now_us);
    world->applied += size;
    model_server_trim(world->server, world->applied);
    model_server_trim(world->replica, world->applied);
}

static void show_dump(const pipe_world *world, const model_server *server)
{
    char *text = model_dataset_dump(model_server_dataset(server));

    (void)world;
    answer('d', 0, text, strlen(text));
    free(text);
}

static void set_view(pipe_world *world, const char *ports)
{
    static model_cluster_view view;
    unsigned                  port[2];

    if (sscanf(ports, "%u %u", &port[0], &port[1]) != 2)
        exit(2);
    view = (model_cluster_view){ .nodes_count = 2 };
    for (unsigned i = 0; i < 2; i++) {
        view.nodes[i] = (model_node){ .host    = "127.0.0.1",
                                      .port    = (uint16_t)port[i],
                                      .primary = MODEL_NO_NODE };
        (void)snprintf(view.nodes[i].id, sizeof view.nodes[i].id, "%040u", i);
    }
    for (unsigned slot = 0; slot < MODEL_VIEW_SLOTS; slot++) {
        view.owner[slot]          = slot < MODEL_VIEW_SLOTS / 2 ? 0 : 1;
        view.migrating_to[slot]   = slot == 3300 ? 1 : MODEL_NO_NODE;
        view.importing_from[slot] = slot == 15495 ? 1 : MODEL_NO_NODE;
    }
    model_server_set_view(world->server, &view, world->now_us);
}

static void run(pipe_world *world, char letter, uint32_t number, const char *bytes, size_t size)
{
    bool same;

    switch (letter) {
    case 't': world->now_us = strtoll(bytes, NULL, 10); break;
    case 'o':
        world->links[number] =
            model_link_open(world->server, (void *)(uintptr_t)number, "127.0.0.1:1", world->now_us);
        break;
    case 'c':
        model_link_closed(world->links[number]);
        world->links[number] = NULL;
        break;
    case 'f': model_link_feed(world->links[number], bytes, size, world->now_us); break;
    case 'v': set_view(world, bytes); break;
    case 'k': model_server_tick(world->server, world->now_us); break;
    case 'd': show_dump(world, world->server); break;
    case 'r':
        same = model_dataset_equal(model_server_dataset(world->server),
                                   model_server_dataset(world->replica)) &&
               model_server_offset(world->server) == model_server_offset(world->replica);
        answer('d', 0, same ? "1" : "0", 1);
        if (!same)
            show_dump(world, world->replica);
        break;
    default: exit(2);
    }
    replicate(world);
}

static bool serve_one(pipe_world *world)
{
    uint32_t head[2];
    int      letter = fgetc(stdin);

    if (letter == EOF || fread(head, sizeof head, 1, stdin) != 1 || head[0] >= LINKS_MAX)
        return false;
    char *bytes = malloc((size_t)head[1] + 1);
    if (bytes == NULL || (head[1] != 0 && fread(bytes, head[1], 1, stdin) != 1)) {
        free(bytes);
        return false;
    }
    bytes[head[1]] = '\0';
    run(world, (char)letter, head[0], bytes, head[1]);
    free(bytes);
    answer('.', 0, NULL, 0);
    (void)fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    const char          *version = argc > 1 ? argv[1] : "7.0";
    pipe_world           world   = { .random = 1, .now_us = INT64_C(1700000000000000) };
    model_owner          owner   = { on_send, on_close, on_random, NULL, NULL, &world };
    model_server_options options = {
        .version    = strcmp(version, "6.2") == 0      ? MODEL_REDIS_6_2
                      : strcmp(version, "valkey") == 0 ? MODEL_VALKEY_9
                                                       : MODEL_REDIS_7_0,
        .host       = "127.0.0.1",
        .port       = 6379,
        .now_us     = world.now_us,
        .is_cluster = argc > 2 && strcmp(argv[2], "cluster") == 0,
    };

    world.server  = model_server_new(&options, owner);
    world.replica = model_server_new(&options, owner);
    model_server_follow(world.replica, "127.0.0.1", 6379, world.now_us);
    while (serve_one(&world))
        ;
    model_server_free(world.replica);
    model_server_free(world.server);
    return 0;
}
