/*
 * test_cluster_server.c -- the lock on a cluster as its users meet it: names in every part of it, a
 * slot that moves while its lock is held, a node that ends, and what is not a cluster.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/cluster.h"
#include "tests/lib/judged.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 24, LEASE_MS = 12000 };

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

/* ---- a node that ends ------------------------------------------------------------------------ */

FIXTURE(NULL, end)

/* The replica has not got it: the holder learns that it is lost, and within a lease. */
TEST(cluster_lock_that_the_replica_lacks_is_lost)
{
    char url[340];

    begin(true);
    (void)snprintf(url, sizeof url, "%s&lease=%dms", c->token_url, LEASE_MS);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);

    assert_true(server_comes_to(c->nodes[4], "1", "DBSIZE"));
    (void)server_ask(c->nodes[1], "DEL bowline:{%s}", name); /* as if it had never gone there */
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

/* As in an upgrade: the replica is started again first, and takes over then.  The clients know it,
 * and its former process, as it is what their URL names; and it gave them nothing. */
TEST(cluster_lock_survives_a_switch_to_a_restarted_node)
{
    enum { LOCKS = 2 };
    static const char *const protocols[LOCKS] = { "token", "queue" };
    bowline_client          *clients[LOCKS];
    bowline_hold            *holds[LOCKS];
    char                     url[340];
    int                      slot = 0;

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

TEST(cluster_that_is_down_says_so)
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

/* ---- what is no cluster, and TLS ------------------------------------------------------------- */

TEST(cluster_node_by_a_url_of_a_server)
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

/* Whoever is sent on looks who is there: a certificate for another host is none. */
TEST(cluster_over_tls)
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
