/*
 * engines.c -- see engines.h.
 */
#include "tests/lib/engines.h"
#include "tests/lib/cluster.h"
#include "tests/lib/inside.h"
#include "tests/lib/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <ftw.h>

enum { RUNS_MAX = 300, CLIENTS_MAX = 32 };

static const engine engines[] = {
    { .name = "thread", .has_fence = true, .shows_fence = true, .in_order = true },
    { .name            = "file",
      .has_fence       = true,
      .shows_fence     = true,
      .in_order        = true,
      .across_fork     = true,
      .has_descriptors = true },
    { .name        = "redis",
      .has_lease   = true,
      .has_fence   = true,
      .in_order    = true,
      .across_fork = true },
    { .name        = "rediss",
      .has_lease   = true,
      .has_fence   = true,
      .in_order    = true,
      .across_fork = true },
    { .name = "unix", .has_lease = true, .has_fence = true, .in_order = true, .across_fork = true },
    { .name = "token", .has_lease = true, .across_fork = true }, /* redis:// with that protocol */
    { .name = "redlock", .has_lease = true, .across_fork = true },
    { .name = "cluster", .has_lease = true, .has_fence = true, .across_fork = true },
};
enum { ENGINES = COUNT_OF(engines) };

/* the servers of redlock, besides the shared one */
enum { MORE_SERVERS = 2 };

static struct {
    server  *server;
    server  *more[MORE_SERVERS];
    cluster *cluster;
    char     directory[64]; /* of file: */
    unsigned descriptors;
    unsigned threads;
    unsigned cases;
    char     lock[32];

    bowline_client *clients[CLIENTS_MAX]; /* open, in the order of opening */
    unsigned        clients_count;
} world;

const char *engine_lock(void)
{
    return world.lock;
}

static bool is_on_cluster(const engine *e)
{
    return strcmp(e->name, "cluster") == 0;
}

const char *engine_url(const engine *e, const char *options)
{
    static _Thread_local char     urls[9][512];
    static _Thread_local unsigned next;
    char                         *url  = urls[next++ % 9];
    const char                   *mark = options != NULL ? "?" : "";
    const char                   *more = options != NULL ? options : "";

    if (strcmp(e->name, "thread") == 0)
        (void)snprintf(url, sizeof urls[0], "thread:%s%s", mark, more);
    else if (strcmp(e->name, "file") == 0)
        (void)snprintf(url, sizeof urls[0], "file:%s%s%s", world.directory, mark, more);
    else if (strcmp(e->name, "redis") == 0)
        (void)snprintf(url, sizeof urls[0], "%s%s%s", world.server->tcp_url, mark, more);
    else if (strcmp(e->name, "rediss") == 0)
        (void)snprintf(url, sizeof urls[0], "%s%s%s", world.server->tls_url,
                       options != NULL ? "&" : "", more);
    else if (strcmp(e->name, "redlock") == 0)
        (void)snprintf(url, sizeof urls[0],
                       "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?%s%s%s",
                       world.server->port, world.more[0]->port, world.more[1]->port,
                       "restart-wait=off", options != NULL ? "&" : "", more);
    else if (is_on_cluster(e))
        (void)snprintf(url, sizeof urls[0], "%s%s%s", world.cluster->url, mark, more);
    else if (strcmp(e->name, "token") == 0)
        (void)snprintf(url, sizeof urls[0], "%s?protocol=token%s%s", world.server->tcp_url,
                       options != NULL ? "&" : "", more);
    else
        (void)snprintf(url, sizeof urls[0], "%s%s%s", world.server->unix_url, mark, more);
    return url;
}

static bool is_on_server(const engine *e)
{
    return strstr(e->name, "redis") != NULL || strcmp(e->name, "unix") == 0 ||
           strcmp(e->name, "token") == 0 || strcmp(e->name, "redlock") == 0;
}

static void start_more_servers(void)
{
    for (unsigned i = 0; i < MORE_SERVERS; i++)
        if (world.more[i] == NULL)
            world.more[i] = server_start(NULL);
}

static bool all_become_empty(void)
{
    bool are_empty = server_becomes_empty(world.server);

    for (unsigned i = 0; i < MORE_SERVERS; i++)
        are_empty = (world.more[i] == NULL || server_becomes_empty(world.more[i])) && are_empty;
    return are_empty;
}

typedef struct run {
    const engine      *engine;
    CMUnitTestFunction body;
    bool               began; /* it was not skipped */
} run;

bowline_client *engine_client_at(const engine *e, const char *options, uint32_t flags,
                                 const char *file, int line)
{
    bowline_client *client = must_open_at(engine_url(e, options), flags, file, line);

    assert_true(world.clients_count < CLIENTS_MAX);
    world.clients[world.clients_count++] = client;
    return client;
}

void engine_close(bowline_client *client)
{
    unsigned i = 0;

    while (i < world.clients_count && world.clients[i] != client)
        i++;
    assert_true(i < world.clients_count);
    world.clients_count--;
    for (; i < world.clients_count; i++)
        world.clients[i] = world.clients[i + 1];
    bowline_close(client);
}

/* Skips what this machine or this build lacks; that is impossible before a test begins. */
static void run_case(void **state)
{
    run            *r      = *state;
    void           *e      = (void *)(uintptr_t)r->engine;
    bowline_client *client = NULL;

    if (is_on_server(r->engine) && world.server == NULL)
        world.server = server_start_tls(NULL);
    if (strcmp(r->engine->name, "redlock") == 0)
        start_more_servers();
    if (is_on_cluster(r->engine))
        cluster_queue_needed();
    if (is_on_cluster(r->engine) && world.cluster == NULL)
        world.cluster = cluster_start_patient();
    if (strcmp(r->engine->name, "rediss") == 0 && world.server->tls_port == 0)
        skip_because("the server has no TLS");
    int status = bowline_open(&client, BOWLINE_OPTIONS(.url = engine_url(r->engine, NULL)), NULL);
    bowline_close(client);
    if (status == BOWLINE_UNSUPPORTED)
        skip_because("this build of bowline has no TLS");
    world.descriptors = count_descriptors();
    world.threads     = count_threads();
    r->began          = true;
    (void)snprintf(world.lock, sizeof world.lock, "case %u", ++world.cases);
    world.clients_count = 0;
    r->body(&e);
    while (world.clients_count > 0) {
        /* A majority ends a release, and bowline_close gives up on the third server in 200 ms. */
        if (strcmp(r->engine->name, "redlock") == 0)
            inside_await_replies(world.clients[0]);
        engine_close(world.clients[0]);
    }
}

static unsigned count_queued(const engine *e, const waiter *waiters, unsigned count)
{
    unsigned sum = 0;

    if (is_on_server(e) && e->in_order)
        return (unsigned)strtoul(
            server_ask(world.server, "ZCARD 'bowline:{%s}:bwl.q'", engine_lock()), NULL, 10);
    for (unsigned i = 0; i < count; i++)
        if (i == 0 || waiters[i].client != waiters[i - 1].client)
            sum += look_inside(waiters[i].client, engine_lock()).locks;
    return sum;
}

void engine_await_queue(const engine *e, const waiter *waiters, unsigned count)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1))
        if (count_queued(e, waiters, count) == count)
            return;
    fail_msg("no waiter joined the queue of %s", engine_lock());
}

static void *release_when_awaited(void *arg)
{
    const releaser *r = arg;

    engine_await_queue(r->engine, &(waiter){ .client = r->waiting }, 1);
    must_release(r->hold);
    return NULL;
}

void releaser_start(releaser *r)
{
    assert_int_equal(pthread_create(&r->thread, NULL, release_when_awaited, r), 0);
}

static int after_case(void **state)
{
    const run *r = *state;

    if (!r->began)
        return 0;
    assert_int_equal(count_descriptors(), world.descriptors);
    assert_true(threads_end(world.threads));
    if ((is_on_server(r->engine) && !all_become_empty()) ||
        (is_on_cluster(r->engine) && !cluster_becomes_empty(world.cluster))) {
        print_error("keys remain on the server\n");
        return -1;
    }
    return 0;
}

static void *do_nothing(void *arg)
{
    return arg;
}

static int before_all(void **state)
{
    pthread_t thread;

    /* A sanitizer starts a thread of its own with the first one of ours, and it stays. */
    if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return -1;
    (void)snprintf(world.directory, sizeof world.directory, "/tmp/bowline-file-XXXXXX");
    return mkdtemp(world.directory) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    return remove(path);
}

static int after_all(void **state)
{
    server_stop(world.server);
    cluster_stop(world.cluster);
    world.server  = NULL;
    world.cluster = NULL;
    for (unsigned i = 0; i < MORE_SERVERS; i++)
        server_stop(world.more[i]);
    return nftw(world.directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void engine_add(const char *name, CMUnitTestFunction body, engine_kind kind)
{
    static char   names[RUNS_MAX][120];
    static run    runs[RUNS_MAX];
    static size_t count;

    suite_around(before_all, after_all);
    suite_fixture(NULL, after_case);
    for (size_t e = 0; e < ENGINES; e++) {
        if ((kind == ENGINES_WITH_A_LEASE && !engines[e].has_lease) ||
            (kind == ENGINES_WITH_A_QUEUE && !engines[e].in_order) ||
            (kind == QUEUE_ENGINES && !(engines[e].has_lease && engines[e].has_fence)) ||
            (kind == LOCAL_ENGINES && (engines[e].has_lease || !engines[e].in_order)))
            continue;
        assert_true(count < RUNS_MAX);
        (void)snprintf(names[count], sizeof names[0], "%s: %s", engines[e].name, name);
        runs[count] = (run){ .engine = &engines[e], .body = body };
        suite_add_row(names[count], run_case, &runs[count]);
        count++;
    }
}
