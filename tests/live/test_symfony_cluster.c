/*
 * test_symfony_cluster.c -- a lock of Symfony in a Redis Cluster: the set is where its slot is, and
 * a waiter hears the node that has it.
 */
#include "runtime/lock.h"
#include "api/engines.h"
#include "runtime/loop.h"
#include "tests/lib/cluster.h"
#include "tests/lib/symfony_scripts.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <string.h>

enum { LEASE_MS = 300000, PATIENCE_MS = 10000 };

static cluster *nodes;

static const char *url(void)
{
    static char text[400];

    (void)snprintf(text, sizeof text, "%s?profile=symfony", nodes->url);
    return text;
}

static const char *save(unsigned node, const char *name)
{
    return server_ask(nodes->nodes[node], "EVAL '%s' 1 %s 1.5 theirs %d", SYMFONY_SAVE, name,
                      LEASE_MS);
}

static void test_symfony_in_a_cluster_is_where_its_slot_is(void **state)
{
    bowline_client *client = must_open(url());

    (void)state;
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        char          name[64];
        bowline_error error;
        (void)snprintf(name, sizeof name, "%s", cluster_name_at(i, 1));
        bowline_hold *hold = must_acquire(client, name);
        assert_string_equal(server_ask(nodes->nodes[i], "ZCARD %s", name), "2");
        assert_string_equal(save(i, name), "(nil)");
        assert_status(BOWLINE_OK, bowline_extend(hold, 2 * LEASE_MS, &error), &error);
        must_release(hold);
        assert_string_equal(save(i, name), "1");
        assert_int_equal(try_once(client, name), BOWLINE_BUSY);
        (void)server_ask(nodes->nodes[i], "DEL %s", name);
    }
    bowline_close(client);
}

/* Drives it until it is so, ten seconds at most. */
static void drive_until(bwl_shard *client, bwl_hold_state state, uint32_t attempts,
                        const bwl_lock *lock)
{
    bwl_fault fault;
    bwl_ms    end = bwl_shard_now(client) + PATIENCE_MS;

    while ((lock->base.hold.state != state || lock->base.hold.claim.attempt < attempts) &&
           bwl_shard_now(client) < end)
        assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client) + 20, &fault), BWL_OK);
    assert_int_equal(lock->base.hold.state, state);
}

/* Its next attempt is put off for ever: only a push can bring it. */
static void test_symfony_waiter_in_a_cluster_is_woken_by_its_node(void **state)
{
    static const bwl_settings nothing;
    static bwl_operation      operation;
    bwl_shard                *client;
    bwl_fault                 fault;
    bwl_lock                 *lock;

    (void)state;
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", cluster_name_at(i, 2));
        assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, url(), &fault),
                         BWL_OK);
        bwl_shard_lock(client);
        const bwl_terms terms = { .lease_ms    = LEASE_MS,
                                  .max_hold_ms = BWL_NEVER,
                                  .answer_ms   = client->host.settings.answer_ms,
                                  .rules       = client->host.settings.rules };
        assert_string_equal(save(i, name), "1");
        assert_int_equal(bwl_lock_new(&lock, client, name, &terms, &fault), BWL_OK);
        bwl_lock_acquire(lock, &operation, BWL_NEVER);
        drive_until(client, BWL_HOLD_WAITING, 2, lock);
        lock->base.hold.look_at = BWL_NEVER;
        uint32_t attempt        = lock->base.hold.claim.attempt;
        (void)server_ask(nodes->nodes[i], "EVAL '%s' 1 %s theirs", SYMFONY_DELETE, name);
        drive_until(client, BWL_HOLD_HELD, attempt + 1, lock);
        assert_int_equal(lock->base.hold.claim.attempt, attempt + 1);
        bwl_shard_unlock(client);
        bwl_shard_close(client);
        (void)server_ask(nodes->nodes[i], "DEL %s", name);
    }
}

static int start_cluster(void **state)
{
    (void)state;
    server_needed();
    nodes = cluster_start(false);
    return 0;
}

static int stop_cluster(void **state)
{
    (void)state;
    cluster_stop(nodes);
    return 0;
}

static int is_empty(void **state)
{
    (void)state;
    return cluster_becomes_empty(nodes) ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_teardown(name, is_empty)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_symfony_in_a_cluster_is_where_its_slot_is),
        TEST(test_symfony_waiter_in_a_cluster_is_woken_by_its_node),
    };

    return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
