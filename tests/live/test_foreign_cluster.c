/*
 * test_foreign_cluster.c -- locks of Redisson and Symfony in a Redis Cluster: the key, the counter
 * and the channel are on the node of the slot of the lock, and a waiter subscribes there.
 */
#include "runtime/lock.h"
#include "api/engines.h"
#include "runtime/loop.h"
#include "tests/lib/cluster.h"
#include "tests/lib/suite.h"
#include "tests/lib/symfony_scripts.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <stdio.h>
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

static int is_empty(void **state)
{
    return cluster_becomes_empty(nodes) ? 0 : -1;
}

FIXTURE(NULL, is_empty)

TEST(symfony_in_a_cluster_is_where_its_slot_is)
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

/* New clients of Redisson subscribe to the shard if the server is 7.0 or newer, old ones to any
 * node. */
TEST(redisson_in_a_cluster_publishes_to_old_and_new_clients)
{
    bowline_client *client = must_open(url_of("redisson-fenced"));

    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", cluster_name_at(i, 1));
        int fresh = server_say(nodes->nodes[i], "%s redisson_lock__channel:{%s}",
                               server_is_new() ? "SSUBSCRIBE" : "SUBSCRIBE", name);
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
        assert_non_null(strstr(hears(fresh), server_is_new() ? "smessage" : "message"));
        assert_non_null(strstr(hears(old), "message"));
        (void)close(fresh);
        (void)close(old);
        (void)server_ask(nodes->nodes[i], "DEL redisson_lock_token:{%s}", name);
    }
    bowline_close(client);
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

AROUND(start_cluster, stop_cluster)
