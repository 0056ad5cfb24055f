/*
 * test_cluster_server.c -- locks on a cluster from the view of a user: a cluster that is down, a
 * single-server URL for a node, and TLS.  The simulator and tests/session/cluster.txt have the
 * nodes that stop.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/cluster.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <unistd.h>

static cluster *c;

static int end(void **state)
{
    cluster_stop(c);
    c = NULL;
    return 0;
}

FIXTURE(NULL, end)

TEST(cluster_acquire_is_refused_when_the_cluster_is_down)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    c                      = cluster_start(false);
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
    char   name[BOWLINE_NAME_MAX + 1], question[BOWLINE_NAME_MAX + 32];
    waiter w;

    cluster_queue_needed();
    c = cluster_start(false);
    (void)snprintf(name, sizeof name, "%s", cluster_name_at(2, 0));
    (void)snprintf(question, sizeof question, "ZCARD bowline:{%s}:bwl.q", name);
    bowline_client *client = must_open_url("redis+cluster://127.0.0.1:%d", c->nodes[1]->port);
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
    c = cluster_start(false);
    expect(BOWLINE_REFUSED, "write redis+cluster://", "redis://127.0.0.1:%d", c->nodes[0]->port);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        bowline_error   error  = { 0 };
        bowline_hold   *hold   = NULL;
        bowline_client *client = must_open_url("redis://127.0.0.1:%d?protocol=token",
                                               c->nodes[(i + 1) % CLUSTER_PRIMARIES]->port);
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

/* ---- a lock of another program --------------------------------------------------------------- */

/* New clients of Redisson subscribe to the shard if the server is 7.0 or newer, old ones to any
 * node. */
TEST(cluster_release_of_a_redisson_lock_reaches_old_and_new_clients)
{
    char name[64];

    c = cluster_start(false);
    (void)snprintf(name, sizeof name, "%s", cluster_name_at(1, 1));
    bowline_client *client = must_open_url("%s?profile=redisson-fenced", c->url);
    int             fresh  = server_say(c->nodes[1], "%s redisson_lock__channel:{%s}",
                           server_is_new() ? "SSUBSCRIBE" : "SUBSCRIBE", name);
    int             old    = server_say(c->nodes[2], "SUBSCRIBE redisson_lock__channel:{%s}", name);
    assert_non_null(strstr(server_heard(fresh), "subscribe"));
    assert_non_null(strstr(server_heard(old), "subscribe"));
    bowline_hold *hold = must_acquire(client, name);
    assert_int_equal(bowline_hold_fence(hold), 1);
    must_release(hold);
    assert_non_null(strstr(server_heard(fresh), server_is_new() ? "smessage" : "message"));
    assert_non_null(strstr(server_heard(old), "message"));
    (void)close(fresh);
    (void)close(old);
    bowline_close(client);
}
