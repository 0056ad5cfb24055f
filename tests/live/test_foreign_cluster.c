/*
 * test_foreign_cluster.c -- locks of Redisson and Symfony in a Redis Cluster: the key, the counter
 * and the channel are where the slot of the lock is, and a waiter hears the node that has it.
 */
#include "runtime/lock.h"
#include "api/engines.h"
#include "runtime/loop.h"
#include "tests/lib/cluster.h"
#include "tests/lib/symfony_scripts.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LEASE_MS = 300000, PATIENCE_MS = 10000 };

static cluster *nodes;

static const char *url_of(const char *profile)
{
    static char url[400];

    (void)snprintf(url, sizeof url, "%s?profile=%s", nodes->url, profile);
    return url;
}

static const char *save(unsigned node, const char *name)
{
    return server_ask(nodes->nodes[node], "EVAL '%s' 1 %s 1.5 theirs %d", SYMFONY_SAVE, name,
                      LEASE_MS);
}

static void test_symfony_in_a_cluster_is_where_its_slot_is(void **state)
{
    bowline_client *client = must_open(url_of("symfony"));

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

static const char *hears(int fd)
{
    static char   text[500];
    struct pollfd something = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&something, 1, PATIENCE_MS), 1);
    ssize_t size              = read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

/* New clients of Redisson subscribe to the shard, old ones to any node. */
static void test_redisson_in_a_cluster_publishes_to_old_and_new_clients(void **state)
{
    bowline_client *client = must_open(url_of("redisson-fenced"));

    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", cluster_name_at(i, 1));
        int fresh = server_say(nodes->nodes[i], "SSUBSCRIBE redisson_lock__channel:{%s}", name);
        int old   = server_say(nodes->nodes[(i + 1) % CLUSTER_PRIMARIES],
                               "SUBSCRIBE redisson_lock__channel:{%s}", name);
        assert_non_null(strstr(hears(fresh), "subscribe"));
        assert_non_null(strstr(hears(old), "subscribe"));
        for (uint64_t fence = 1; fence < 3; fence++) {
            bowline_hold *hold = must_acquire(client, name);
            assert_int_equal(bowline_hold_fence(hold), fence);
            assert_string_equal(server_ask(nodes->nodes[i], "HVALS %s", name), "1");
            must_release(hold);
        }
        assert_string_equal(server_ask(nodes->nodes[i], "GET redisson_lock_token:{%s}", name), "2");
        assert_non_null(strstr(hears(fresh), "smessage"));
        assert_non_null(strstr(hears(old), "message"));
        (void)close(fresh);
        (void)close(old);
        (void)server_ask(nodes->nodes[i], "DEL redisson_lock_token:{%s}", name);
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
static void wake(const char *profile, unsigned node, const char *name)
{
    static const bwl_settings nothing;
    static bwl_operation      operation;
    bwl_shard                *client;
    bwl_fault                 fault;
    bwl_lock                 *lock;

    assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, url_of(profile), &fault),
                     BWL_OK);
    bwl_shard_lock(client);
    const bwl_terms terms = { .lease_ms    = LEASE_MS,
                              .max_hold_ms = BWL_NEVER,
                              .answer_ms   = client->host.settings.answer_ms,
                              .rules       = client->host.settings.rules };
    assert_int_equal(bwl_lock_new(&lock, client, name, &terms, &fault), BWL_OK);
    bwl_lock_acquire(lock, &operation, BWL_NEVER);
    drive_until(client, BWL_HOLD_WAITING, 2, lock);
    lock->base.hold.look_at = BWL_NEVER;
    uint32_t attempt        = lock->base.hold.claim.attempt;
    (void)server_ask(nodes->nodes[node], "DEL %s", name);
    drive_until(client, BWL_HOLD_HELD, attempt + 1, lock);
    assert_int_equal(lock->base.hold.claim.attempt, attempt + 1);
    bwl_shard_unlock(client);
    bwl_shard_close(client);
    (void)server_ask(nodes->nodes[node], "DEL %s", name);
}

static void test_foreign_waiter_in_a_cluster_is_woken_by_its_node(void **state)
{
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", cluster_name_at(i, 2));
        assert_string_equal(save(i, name), "1");
        wake("symfony", i, name);
        (void)server_ask(nodes->nodes[i], "HSET %s other:1 1", name);
        wake("redisson", i, name);
    }
}

static int start_cluster(void **state)
{
    server_needed();
    nodes = cluster_start(false);
    return 0;
}

static int stop_cluster(void **state)
{
    cluster_stop(nodes);
    return 0;
}

static int is_empty(void **state)
{
    return cluster_becomes_empty(nodes) ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_teardown(name, is_empty)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_symfony_in_a_cluster_is_where_its_slot_is),
        TEST(test_redisson_in_a_cluster_publishes_to_old_and_new_clients),
        TEST(test_foreign_waiter_in_a_cluster_is_woken_by_its_node),
    };

    return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
