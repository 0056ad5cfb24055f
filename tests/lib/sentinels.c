/*
 * sentinels.c -- see sentinels.h.
 */
#include "tests/lib/sentinels.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_MS = 60000, ASK_AGAIN_MS = 8000, DOWN_MS = 1000, BUSY_MS = 10000 };

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

/* ---- on hosts -------------------------------------------------------------------------------- */

static const char *address_of(const service *s, unsigned host)
{
    return s->hosts != NULL ? net_address(s->hosts, host) : "127.0.0.1";
}

static void enter(const service *s, unsigned host)
{
    if (s->hosts != NULL)
        net_enter(s->hosts, host);
}

static void leave(const service *s)
{
    if (s->hosts != NULL)
        net_leave(s->hosts);
}

static const char *open_to_all(const service *s)
{
    return s->hosts != NULL ? "--bind 0.0.0.0 --protected-mode no" : "";
}

/* ---- failover -------------------------------------------------------------------------------- */

/* A node that is silent for so long is down. */
static void set_down_after(service *s, int ms)
{
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        if (s->sentinels[i]->pid != 0)
            (void)server_ask(s->sentinels[i], "SENTINEL SET m down-after-milliseconds %d", ms);
}

void service_allow_failover(service *s)
{
    set_down_after(s, DOWN_MS);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void start_nodes(service *s, const char *options)
{
    char words[512];

    (void)snprintf(words, sizeof words, "--repl-diskless-sync-delay 0 %s %s", open_to_all(s),
                   options != NULL ? options : "");
    for (unsigned i = 0; i < s->nodes_count; i++) {
        enter(s, i);
        s->nodes[i] = server_start(words);
        if (i > 0)
            (void)server_ask(s->nodes[i], "REPLICAOF %s %d", address_of(s, 0), s->nodes[0]->port);
        leave(s);
    }
    for (unsigned i = 1; i < s->nodes_count; i++)
        assert_true(server_comes_to(s->nodes[i], "master_link_status:up", "INFO replication"));
}

static void start_sentinels(service *s)
{
    size_t size = (size_t)snprintf(s->url, sizeof s->url, "redis+sentinel://");

    for (unsigned i = 0; i < SERVICE_SENTINELS; i++) {
        unsigned host = s->nodes_count + i;
        enter(s, host);
        s->sentinels[i] =
            server_start_sentinel_of(address_of(s, 0), s->nodes[0]->port, 2, open_to_all(s));
        leave(s);
        size += (size_t)snprintf(s->url + size, sizeof s->url - size, "%s%s:%d", i > 0 ? "," : "",
                                 address_of(s, host), s->sentinels[i]->port);
    }
    (void)snprintf(s->url + size, sizeof s->url - size, "/m");
    await_sentinels(s);
    set_down_after(s, BUSY_MS);
}

service *service_start_apart(const net *hosts, unsigned nodes_count, const char *options)
{
    service *s = calloc(1, sizeof *s);

    assert_non_null(s);
    assert_in_range(nodes_count, 1, SERVICE_NODES_MAX);
    s->hosts       = hosts;
    s->nodes_count = nodes_count;
    start_nodes(s, options);
    start_sentinels(s);
    return s;
}

service *service_start(unsigned nodes_count, const char *options)
{
    return service_start_apart(NULL, nodes_count, options);
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

static bool is_primary(service *s, unsigned which)
{
    server  *node = s->nodes[which];
    char     place[40];
    unsigned agreed = 0;

    const char *role = node->pid != 0 ? server_may_say(node, "ROLE") : NULL;
    if (role == NULL || strncmp(role, "master", 6) != 0)
        return false; /* a server that becomes a replica closes all connections */
    (void)snprintf(place, sizeof place, "%s %d", address_of(s, which), node->port);
    for (unsigned i = 0; i < SERVICE_SENTINELS; i++)
        if (s->sentinels[i]->pid != 0 &&
            strstr(server_ask(s->sentinels[i], "SENTINEL GET-MASTER-ADDR-BY-NAME m"), place) !=
                NULL)
            agreed++;
    return agreed >= 2;
}

static server *find_primary(service *s, const server *but, int64_t end)
{
    for (; clock_ms() < end; sleep_ms(20))
        for (unsigned i = 0; i < s->nodes_count; i++)
            if (s->nodes[i] != but && is_primary(s, i))
                return s->nodes[i];
    return NULL;
}

server *service_primary(service *s, const server *but)
{
    service_allow_failover(s);
    server *primary = find_primary(s, but, clock_ms() + PATIENCE_MS);

    assert_non_null(primary);
    set_down_after(s, BUSY_MS);
    return primary;
}

/* A sentinel abandons a slow failover, and one that was itself delayed may find no good replica:
 * the command is repeated. */
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

/* Sentinels accept a server's claim to be the primary for eight seconds. */
static bool comes_to_follow(server *node)
{
    for (int64_t end = clock_ms() + PATIENCE_MS; clock_ms() < end; sleep_ms(20)) {
        const char *info = server_may_say(node, "INFO replication");
        if (info != NULL && strstr(info, "master_link_status:up") != NULL)
            return true;
    }
    return false;
}

void service_await_replicas(service *s, server *primary)
{
    for (unsigned i = 0; i < s->nodes_count; i++)
        if (s->nodes[i] != primary && s->nodes[i]->pid != 0)
            assert_true(comes_to_follow(s->nodes[i]));
}

void must_extend_in_failover(bowline_hold *hold)
{
    int status = BOWLINE_UNREACHABLE;

    while (status == BOWLINE_UNREACHABLE || status == BOWLINE_UNKNOWN) {
        status = bowline_extend(hold, 0, NULL);
        sleep_ms(5);
    }
    assert_status(BOWLINE_OK, status, NULL);
}
