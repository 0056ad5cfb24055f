/*
 * test_half_open.c -- a link that loses everything in both directions, without notice, to one node
 * of a cluster. Nothing is refused and no connection is closed; a new connection is established,
 * and is as silent.
 *
 * The link is a proxy that stops forwarding. Rivals connect to the server itself.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/judged.h"
#include "tests/lib/proxy.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { LEASE_MS = 3000, FOR_EVER_MS = 3600000, SERVERS = 3, BEHIND = 1 };

static cluster *c;
static server  *servers[SERVERS];
static proxy   *line;
static witness *judge;

static int end(void **state)
{
    if (line != NULL)
        proxy_stop(line);
    cluster_stop(c);
    for (unsigned i = 0; i < SERVERS; i++) {
        server_stop(servers[i]);
        servers[i] = NULL;
    }
    if (judge != NULL)
        judge_dismiss(judge);
    line  = NULL;
    c     = NULL;
    judge = NULL;
    return 0;
}

static void set_link(bool up)
{
    for (int to_client = 0; to_client < 2; to_client++)
        proxy_hold_back(line, to_client != 0, 0, up ? 0 : FOR_EVER_MS);
}

static void start_line(server *to)
{
    line = proxy_start(to, &(proxy_plan){ .fault = PROXY_NONE });
}

static const char *port_of_line(void)
{
    return strrchr(proxy_url(line), ':') + 1;
}

/* The node announces the port of the proxy as its own, and every node knows it.  It is restarted
 * with that option: Redis 6.2 reports its own port as it was at the start. */
static void start_cluster_with_a_node_behind_the_proxy(void)
{
    c            = cluster_start(false);
    judge        = witness_new();
    server *node = c->nodes[BEHIND];
    size_t  size = strlen(node->options);

    start_line(node);
    (void)snprintf(node->options + size, sizeof node->options - size, " --cluster-announce-port %s",
                   port_of_line());
    server_restart(node);
    assert_true(cluster_comes_to(c, "ok"));
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        assert_true(server_comes_to(c->nodes[i], port_of_line(), "CLUSTER SLOTS"));
}

FIXTURE(NULL, end)

TEST(silent_node_loses_its_locks_in_time_and_no_others)
{
    char          url[160], rivals_url[160];
    bowline_hold *hold  = NULL;
    bowline_hold *again = NULL;

    start_cluster_with_a_node_behind_the_proxy();
    (void)snprintf(url, sizeof url,
                   "redis+cluster://127.0.0.1:%d?protocol=%s&lease=%dms&timeout=1s",
                   c->nodes[0]->port, cluster_protocol(), LEASE_MS);
    (void)snprintf(rivals_url, sizeof rivals_url, "redis://127.0.0.1:%d?protocol=token&lease=%dms",
                   c->nodes[BEHIND]->port, LEASE_MS);
    char name[24], other[24];
    (void)snprintf(name, sizeof name, "%s", cluster_name_at(BEHIND, 0));
    (void)snprintf(other, sizeof other, "%s", cluster_name_at(BEHIND, 1));
    bowline_client *client = must_open(url);
    acquire_in_the_end(&hold, client, name);
    lock_holder *b        = holder_start(judge, hold);
    rival       *r        = rival_start(judge, rivals_url, name);
    int64_t      fault_us = witness_now_us();
    set_link(false);
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(0, 0)), NULL);
    int status = acquire_within(&again, client, other, BOWLINE_NO_WAIT, NULL);
    if (status != BOWLINE_UNKNOWN && status != BOWLINE_UNREACHABLE)
        assert_status(BOWLINE_UNKNOWN, status, NULL); /* prints the status */
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(2, 0)), NULL);
    assert_true(holder_await_loss(b));
    assert_bounded(holder_stop(b), fault_us, LEASE_MS);
    assert_true(rival_await_hold(r));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    set_link(true);
    acquire_in_the_end(&again, client, other);
    (void)bowline_release(again, NULL); /* LOST if the machine was slow */
    rival_stop(r);
    bowline_close(client);
    assert_one_at_a_time(judge);
}
