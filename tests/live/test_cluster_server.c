/*
 * test_cluster_server.c -- the lock on a cluster as its users meet it: names in every part of it, a
 * slot that moves while its lock is held, a node that ends, and what is not a cluster.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/cluster.h"
#include "tests/lib/judged.h"

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

/* The keys of locks at a node. */
static int keys_at(unsigned node)
{
    return atoi(server_ask(c->nodes[node], "DBSIZE"));
}

/* ---- where a lock is ------------------------------------------------------------------------- */

static void test_cluster_every_name_is_locked_where_its_slot_is(void **state)
{
    bowline_hold *holds[NAMES];
    char          name[16];

    begin(false);
    bowline_client *client = must_open(c->token_url);
    bowline_client *other  = must_open(c->token_url);
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "name-%d", i);
        (void)cluster_slot_of(c, name); /* each node agrees with us on it */
        holds[i] = must_acquire(client, name);
        assert_status(BOWLINE_BUSY, try_once(other, name), NULL);
    }
    assert_true(keys_at(0) > 0 && keys_at(1) > 0 && keys_at(2) > 0);
    assert_int_equal(keys_at(0) + keys_at(1) + keys_at(2), NAMES);
    for (int i = 0; i < NAMES; i++) {
        assert_status(BOWLINE_OK, bowline_extend(holds[i], 0, NULL), NULL);
        must_release(holds[i]);
    }
    assert_int_equal(keys_at(0) + keys_at(1) + keys_at(2), 0);
    bowline_close(other);
    bowline_close(client);
}

static void test_cluster_who_is_asked_where_the_slot_is(void **state)
{
    bowline_holder who = { .size = sizeof who };

    begin(false);
    bowline_client *client = must_open(c->token_url);
    bowline_client *other  = must_open(c->token_url);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        bowline_hold *hold = must_acquire(client, cluster_name_at(i, 0));
        assert_status(BOWLINE_OK, bowline_who(other, cluster_name_at(i, 0), &who, NULL), NULL);
        assert_true(who.held);
        must_release(hold);
        assert_status(BOWLINE_OK, bowline_who(other, cluster_name_at(i, 0), &who, NULL), NULL);
        assert_false(who.held);
    }
    bowline_close(other);
    bowline_close(client);
}

/* Of the hosts in the URL one is enough, whichever it is. */
static void test_cluster_hosts_that_are_not_there_are_passed_over(void **state)
{
    char url[200];

    begin(true);
    (void)snprintf(url, sizeof url,
                   "redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?protocol=token",
                   server_free_port(), server_free_port(), c->nodes[4]->port); /* a replica */
    bowline_client *client = must_open(url);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        assert_status(BOWLINE_OK, try_once(client, cluster_name_at(i, 0)), NULL);
    bowline_close(client);
}

/* ---- a slot that moves ----------------------------------------------------------------------- */

/* Held all the while: at home, half-way, and at the other node. */
static void test_cluster_lock_stays_held_while_its_slot_moves(void **state)
{
    begin(false);
    const char     *name   = cluster_name_at(0, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(c->token_url);
    bowline_client *other  = must_open(c->token_url);
    bowline_hold   *hold   = must_acquire(client, name);
    believer       *b      = believer_start(judge, hold);
    rival          *r      = rival_start(judge, c->token_url, name);

    cluster_begin_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL); /* it is at home still */
    assert_status(BOWLINE_BUSY, try_once(other, name), NULL);
    cluster_move_keys(c, slot, 0, 1);
    assert_int_equal(keys_at(1), 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL); /* behind ASKING */
    assert_status(BOWLINE_BUSY, try_once(other, name), NULL);
    cluster_end_move(c, slot, 0, 1);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_BUSY, try_once(other, name), NULL);
    assert_int_equal(rival_turns(r), 0);
    (void)believer_stop(b);
    must_release(hold);
    assert_true(rival_gets_a_turn(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    assert_true(cluster_becomes_empty(c));
    bowline_close(other);
    bowline_close(client);
}

/* What was taken and given back by way of ASK is at the new node alone. */
static void test_cluster_free_lock_of_a_moving_slot_is_taken_at_its_new_node(void **state)
{
    begin(false);
    const char     *name   = cluster_name_at(2, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(c->token_url);

    cluster_begin_move(c, slot, 2, 0);
    bowline_hold *hold = must_acquire(client, name);
    assert_int_equal(keys_at(0), 1);
    assert_int_equal(keys_at(2), 0);
    must_release(hold);
    assert_int_equal(keys_at(0), 0);
    cluster_end_move(c, slot, 2, 0);
    assert_status(BOWLINE_OK, try_once(client, name), NULL);
    bowline_close(client);
}

/* To and fro under contention: nobody is ever beside another, and everybody comes in again. */
static void test_cluster_slot_moves_under_contention(void **state)
{
    enum { RIVALS = 4, MOVES = 10 };
    rival *rivals[RIVALS];

    begin(false);
    const char *name = cluster_name_at(0, 1);
    int         slot = cluster_slot_of(c, name);
    for (int i = 0; i < RIVALS; i++)
        rivals[i] = rival_start(judge, c->token_url, name);
    for (unsigned i = 0; i < MOVES; i++) {
        unsigned from = i % CLUSTER_PRIMARIES;
        unsigned to   = (i + 1) % CLUSTER_PRIMARIES;
        cluster_begin_move(c, slot, from, to);
        assert_true(rival_gets_a_turn(rivals[i % RIVALS]));
        cluster_move_keys(c, slot, from, to);
        assert_true(rival_gets_a_turn(rivals[i % RIVALS]));
        cluster_end_move(c, slot, from, to);
        assert_true(rival_gets_a_turn(rivals[i % RIVALS]));
    }
    for (int i = 0; i < RIVALS; i++) {
        assert_true(rival_gets_a_turn(rivals[i]));
        rival_stop(rivals[i]);
    }
    assert_one_at_a_time(judge);
    assert_true(cluster_becomes_empty(c));
}

/* ---- a node that ends ------------------------------------------------------------------------ */

/* Its replica has the key, and becomes the primary: the lock is held as if nothing had been. */
static void test_cluster_lock_survives_the_end_of_its_node(void **state)
{
    char url[340];

    begin(true);
    (void)snprintf(url, sizeof url, "%s&lease=%dms", c->token_url, LEASE_MS);
    const char     *name   = cluster_name_at(1, 0);
    int             slot   = cluster_slot_of(c, name);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, name);
    believer       *b      = believer_start(judge, hold);
    rival          *r      = rival_start(judge, url, name);

    assert_string_equal(server_ask(c->nodes[1], "WAIT 1 5000"), "1");
    assert_true(server_comes_to(c->nodes[4], "1", "DBSIZE"));
    server_kill(c->nodes[1]);
    assert_true(cluster_leaves(c, slot, 1));
    assert_true(cluster_comes_to(c, "ok"));
    assert_int_equal(cluster_owner(c, 0, slot), 4);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_int_equal(rival_turns(r), 0);
    (void)believer_stop(b);
    must_release(hold);
    assert_true(rival_gets_a_turn(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    assert_true(cluster_becomes_empty(c));
    bowline_close(client);
}

/* The replica has not got it: the holder learns that it is lost, and within a lease. */
static void test_cluster_lock_that_the_replica_lacks_is_lost(void **state)
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
    believer *b        = believer_start(judge, hold);
    int64_t   fault_us = witness_now_us();
    server_kill(c->nodes[1]);
    assert_true(cluster_leaves(c, slot, 1));
    assert_true(believer_learns(b));
    assert_bounded(believer_stop(b), fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_status(BOWLINE_OK, try_once(client, name), NULL);
    bowline_close(client);
}

/* As in an upgrade: the replica is started again first, and takes over then.  The clients know it,
 * and its former process, as it is what their URL names; and it gave them nothing. */
static void test_cluster_lock_survives_a_switch_to_a_restarted_node(void **state)
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

/* The other parts of the cluster serve on. */
static void test_cluster_other_locks_do_not_notice(void **state)
{
    begin(true);
    bowline_client *client = must_open(c->token_url);
    bowline_hold   *hold   = must_acquire(client, cluster_name_at(0, 0));
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(1, 0)), NULL);
    server_kill(c->nodes[1]);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(0, 1)), NULL);
    bowline_close(client);
}

/* Whoever waits meanwhile comes in when the cluster is whole again. */
static void test_cluster_who_waits_sits_out_a_failover(void **state)
{
    bowline_hold *hold = NULL;

    begin(true);
    const char     *name   = cluster_name_at(2, 0);
    bowline_client *client = must_open(c->token_url);
    assert_status(BOWLINE_OK, try_once(client, name), NULL);
    server_kill(c->nodes[2]);
    assert_status(BOWLINE_OK, acquire_within(&hold, client, name, 30000, NULL), NULL);
    must_release(hold);
    bowline_close(client);
}

static void test_cluster_that_is_down_says_so(void **state)
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

static void test_cluster_url_of_a_server_by_itself(void **state)
{
    server *alone = server_start(NULL);
    expect(BOWLINE_REFUSED, "not a node of a cluster: write redis://",
           "redis+cluster://127.0.0.1:%d", alone->port);
    server_stop(alone);
}

static void test_cluster_node_by_a_url_of_a_server(void **state)
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
static void test_cluster_over_tls(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_cluster_every_name_is_locked_where_its_slot_is, end),
        cmocka_unit_test_teardown(test_cluster_who_is_asked_where_the_slot_is, end),
        cmocka_unit_test_teardown(test_cluster_hosts_that_are_not_there_are_passed_over, end),
        cmocka_unit_test_teardown(test_cluster_lock_stays_held_while_its_slot_moves, end),
        cmocka_unit_test_teardown(test_cluster_free_lock_of_a_moving_slot_is_taken_at_its_new_node,
                                  end),
        cmocka_unit_test_teardown(test_cluster_slot_moves_under_contention, end),
        cmocka_unit_test_teardown(test_cluster_lock_survives_the_end_of_its_node, end),
        cmocka_unit_test_teardown(test_cluster_lock_that_the_replica_lacks_is_lost, end),
        cmocka_unit_test_teardown(test_cluster_lock_survives_a_switch_to_a_restarted_node, end),
        cmocka_unit_test_teardown(test_cluster_other_locks_do_not_notice, end),
        cmocka_unit_test_teardown(test_cluster_who_waits_sits_out_a_failover, end),
        cmocka_unit_test_teardown(test_cluster_that_is_down_says_so, end),
        cmocka_unit_test_teardown(test_cluster_url_of_a_server_by_itself, end),
        cmocka_unit_test_teardown(test_cluster_node_by_a_url_of_a_server, end),
        cmocka_unit_test_teardown(test_cluster_over_tls, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
