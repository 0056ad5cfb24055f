/*
 * sentinels.c -- see sentinels.h.
 */
#include "tests/lib/sentinels.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_MS = 60000, ASK_AGAIN_MS = 8000 };

static void await_sentinels(service *s)
{
    char replicas[40];

    (void)snprintf(replicas, sizeof replicas, "slaves=%u,sentinels=%d", s->nodes_count - 1,
                   SERVICE_SENTINELS);
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++) {
        int64_t end = clock_ms() + PATIENCE_MS;
        while (clock_ms() < end &&
               strstr(server_ask(s->sentinels[i], "INFO sentinel"), replicas) == NULL)
            sleep_ms(20);
        assert_non_null(strstr(server_ask(s->sentinels[i], "INFO sentinel"), replicas));
    }
}

service *service_start(unsigned nodes_count, const char *options)
{
    service *s = calloc(1, sizeof *s);
    size_t   size;
    char     words[512];

    assert_non_null(s);
    assert_in_range(nodes_count, 1, SERVICE_NODES_MAX);
    s->nodes_count = nodes_count;
    for (unsigned i = 0; i < nodes_count; i++) {
        (void)snprintf(words, sizeof words, "--repl-diskless-sync-delay 0 %s",
                       options != NULL ? options : "");
        s->nodes[i] = server_start(words);
        if (i > 0)
            (void)server_ask(s->nodes[i], "REPLICAOF 127.0.0.1 %d", s->nodes[0]->port);
    }
    for (unsigned i = 1; i < nodes_count; i++)
        assert_true(server_comes_to(s->nodes[i], "master_link_status:up", "INFO replication"));
    size = (size_t)snprintf(s->url, sizeof s->url, "redis+sentinel://");
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++) {
        s->sentinels[i] = server_start_sentinel(s->nodes[0]->port, 2);
        size += (size_t)snprintf(s->url + size, sizeof s->url - size, "%s127.0.0.1:%d",
                                 i > 0 ? "," : "", s->sentinels[i]->port);
    }
    (void)snprintf(s->url + size, sizeof s->url - size, "/m");
    await_sentinels(s);
    return s;
}

void service_stop(service *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        server_stop(s->sentinels[i]);
    for (unsigned i = 0; i < s->nodes_count; i++)
        server_stop(s->nodes[i]);
    free(s);
}

static bool is_primary(service *s, server *node)
{
    char     port[16];
    unsigned agreed = 0;

    const char *role = node->pid != 0 ? server_may_say(node, "ROLE") : NULL;
    if (role == NULL || strncmp(role, "master", 6) != 0)
        return false; /* who is told to follow hangs up on everybody */
    (void)snprintf(port, sizeof port, " %d", node->port);
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        if (s->sentinels[i]->pid != 0 &&
            strstr(server_ask(s->sentinels[i], "SENTINEL GET-MASTER-ADDR-BY-NAME m"), port) != NULL)
            agreed++;
    return agreed >= 2;
}

static server *find_primary(service *s, const server *but, int64_t end)
{
    for (; clock_ms() < end; sleep_ms(20))
        for (unsigned i = 0; i < s->nodes_count; i++)
            if (s->nodes[i] != but && is_primary(s, s->nodes[i]))
                return s->nodes[i];
    return NULL;
}

server *service_primary(service *s, const server *but)
{
    server *primary = find_primary(s, but, clock_ms() + PATIENCE_MS);

    assert_non_null(primary);
    return primary;
}

/* A sentinel gives up what takes too long, and one that was kept waiting itself may see nobody fit
 * for it: it is asked again. */
server *service_switch(service *s, const server *from)
{
    server *primary = NULL;

    for (int64_t end = clock_ms() + PATIENCE_MS; primary == NULL && clock_ms() < end;) {
        (void)server_ask(s->sentinels[0], "SENTINEL FAILOVER m");
        primary = find_primary(s, from, clock_ms() + ASK_AGAIN_MS);
    }
    assert_non_null(primary);
    return primary;
}

/* Sentinels let one that says it is a primary say so for eight seconds. */
static bool comes_to_follow(server *node)
{
    for (int64_t end = clock_ms() + PATIENCE_MS; clock_ms() < end; sleep_ms(20)) {
        const char *info = server_may_say(node, "INFO replication");
        if (info != NULL && strstr(info, "master_link_status:up") != NULL)
            return true;
    }
    return false;
}

void service_settles(service *s, server *primary)
{
    for (unsigned i = 0; i < s->nodes_count; i++)
        if (s->nodes[i] != primary && s->nodes[i]->pid != 0)
            assert_true(comes_to_follow(s->nodes[i]));
}
