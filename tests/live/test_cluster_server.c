/*
 * test_cluster_server.c -- locks on a cluster from the view of a user: a failover, a planned
 * switch, a cluster that is down, a single-server URL for a node, and TLS.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/cluster.h"
#include "tests/lib/judged.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { LEASE_MS = 12000 };

static cluster *c;
static witness *judge;

static void begin(bool has_replicas)
{
    c     = cluster_start(has_replicas);
    judge = witness_new();
}

static int end(void **state)
{
    cluster_stop(c);
    if (judge != NULL)
        judge_dismiss(judge);
    c     = NULL;
    judge = NULL;
    return 0;
}

/* ---- a node that is killed ------------------------------------------------------------------- */

FIXTURE(NULL, end)

/* The replica lacks the key: the holder learns within one lease that the lock is lost. */
TEST(cluster_lock_is_lost_when_the_replica_lacks_it)
{
    char url[340];

    begin(true);
    (void)snprintf(url, sizeof url, "%s&lease=%dms", c->token_url, LEASE_MS);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);

    assert_true(server_comes_to(c->nodes[4], "1", "DBSIZE"));
    (void)server_ask(c->nodes[1], "DEL bowline:{%s}", name); /* as if it had not been replicated */
    assert_true(server_comes_to(c->nodes[4], "0", "DBSIZE"));
    lock_holder *b        = holder_start(judge, hold);
    int64_t      fault_us = witness_now_us();
    server_kill(c->nodes[1]);
    assert_true(cluster_leaves(c, slot, 1));
    assert_true(holder_await_loss(b));
    assert_bounded(holder_stop(b), fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_status(BOWLINE_OK, try_once(client, name), NULL);
    bowline_close(client);
}

/* As in an upgrade: the replica restarts first, then takes over. The clients know that node and its
 * previous process, because their URL names it; that process granted them nothing. */
TEST(cluster_lock_survives_a_switch_to_a_restarted_replica)
{
    enum { LOCKS = 2 };
    const char     *protocols[LOCKS] = { "token", cluster_protocol() };
    bowline_client *clients[LOCKS];
    bowline_hold   *holds[LOCKS];
    char            url[340];
    int             slot = 0;

    begin(true);
    for (unsigned i = 0; i < LOCKS; i++) {
        const char *name = cluster_name_at(1, i);
        slot             = cluster_slot_of(c, name);
        (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d?protocol=%s&lease=%dms",
                       c->nodes[4]->port, protocols[i], LEASE_MS);
        clients[i] = must_open(url);
        holds[i]   = must_acquire(clients[i], name);
    }
    server_restart(c->nodes[4]);
    assert_true(cluster_comes_to(c, "ok"));
    cluster_switch(c, slot, 1, 4);
    for (unsigned i = 0; i < LOCKS; i++) {
        assert_status(BOWLINE_OK, bowline_extend(holds[i], 0, NULL), NULL);
        assert_status(BOWLINE_BUSY, try_once(clients[1 - i], cluster_name_at(1, i)), NULL);
        must_release(holds[i]);
    }
    assert_true(cluster_becomes_empty(c));
    for (unsigned i = 0; i < LOCKS; i++)
        bowline_close(clients[i]);
}

TEST(cluster_acquire_is_refused_when_the_cluster_is_down)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    begin(false);
    bowline_client *client = must_open(c->token_url);
    server_kill(c->nodes[1]);
    assert_true(cluster_comes_to(c, "fail"));
    for (int64_t wait_ms = 0; wait_ms <= 200; wait_ms += 200) {
        assert_status(BOWLINE_REFUSED,
                      acquire_within(&hold, client, cluster_name_at(0, 0), wait_ms, &error),
                      &error);
        assert_non_null(strstr(error.text, "CLUSTERDOWN"));
    }
    bowline_close(client);
}

/* While a call blocks on the first connection, the next one opens another. */
TEST(cluster_nodes_are_found_by_each_connection_of_a_client)
{
    char   url[100], name[BOWLINE_NAME_MAX + 1], question[BOWLINE_NAME_MAX + 32];
    waiter w;

    cluster_queue_needed();
    begin(false);
    (void)snprintf(name, sizeof name, "%s", cluster_name_at(2, 0));
    (void)snprintf(question, sizeof question, "ZCARD bowline:{%s}:bwl.q", name);
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", c->nodes[1]->port);
    bowline_client *client = must_open(url);
    bowline_hold   *first  = must_acquire(client, name);
    waiter_start(&w, client, name, 20000);
    assert_true(server_comes_to(c->nodes[2], "1", question));
    bowline_hold *second = must_acquire(client, cluster_name_at(0, 0));
    must_release(first);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    must_release(second);
    bowline_close(client);
}

/* ---- a URL of a single server, and TLS ------------------------------------------------------- */

TEST(cluster_node_in_a_single_server_url_is_refused)
{
    begin(false);
    expect(BOWLINE_REFUSED, "write redis+cluster://", "redis://127.0.0.1:%d", c->nodes[0]->port);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        bowline_error error = { 0 };
        char          url[100];
        (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?protocol=token",
                       c->nodes[(i + 1) % CLUSTER_PRIMARIES]->port);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = NULL;
        assert_status(BOWLINE_REFUSED,
                      acquire_within(&hold, client, cluster_name_at(i, 0), 0, &error), &error);
        assert_non_null(strstr(error.text, "write redis+cluster://"));
        bowline_close(client);
    }
}

/* The client verifies the certificate of the node that a redirect names: one for another host is
 * refused. */
TEST(cluster_redirect_to_a_wrong_certificate_is_refused)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    c                      = cluster_start_tls();
    bowline_client *client = must_open(c->token_url);
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(0, 0)), NULL);
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(1, 0)), NULL);
    assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, cluster_name_at(2, 0), 0, &error),
                  &error);
    assert_non_null(strstr(error.text, "127.0.0.1"));
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(1, 1)), NULL);
    bowline_close(client);
}
