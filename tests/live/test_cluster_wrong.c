/*
 * test_cluster_wrong.c -- one node of a cluster refuses, or is at an address that does not resolve,
 * while the other nodes work: the error names the cause and the remedy.
 *
 * The tests share one cluster, and each repairs what it breaks.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/cluster.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { BAD = 1 }; /* the node that is misconfigured */

static cluster *c;

static int begin(void **state)
{
    c = cluster_start(false);
    return 0;
}

static int end(void **state)
{
    cluster_stop(c);
    return 0;
}

/* Acquires a lock of that node.  A refusal comes at once for a client that would wait, too. */
static void check_lock_at(unsigned node, int status, const char *part, const char *user)
{
    bowline_hold *hold = NULL;

    for (int64_t wait_ms = 0; wait_ms <= 86400000; wait_ms += 86400000) {
        bowline_error   error = { 0 };
        bowline_client *client =
            must_open_url("redis+cluster://%s%s?protocol=%s", user,
                          c->url + strlen("redis+cluster://"), cluster_protocol());
        assert_status(status,
                      acquire_within(&hold, client, cluster_name_at(node, 0), wait_ms, &error),
                      &error);
        if (status == BOWLINE_OK)
            must_release(hold);
        else if (strstr(error.text, part) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", part, error.text);
        assert_null(strstr(error.text, "hunter2"));
        bowline_close(client);
    }
}

static void allow(unsigned node, const char *rule)
{
    assert_string_equal(server_ask(c->nodes[node], "ACL SETUSER ann reset on %s", rule), "OK");
}

static void check_only_bad_refuses(const char *part)
{
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        check_lock_at(i, i == BAD ? BOWLINE_REFUSED : BOWLINE_OK, part, "ann:hunter2@");
}

TEST(cluster_password_differs_at_one_node)
{
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        allow(i, i == BAD ? ">other ~* &* +@all" : ">hunter2 ~* &* +@all");
    check_only_bad_refuses("does not accept this user and password (WRONGPASS)");
    assert_string_equal(server_ask(c->nodes[BAD], "ACL DELUSER ann"), "1");
    check_only_bad_refuses("does not accept this user and password (WRONGPASS)");
}

TEST(cluster_user_lacks_permissions_at_one_node)
{
    static const struct {
        const char *rule;
        const char *part;
        const char *protocol; /* that needs the missing permission; NULL: all */
    } rules[] = {
        { ">hunter2 ~* &* +@all -ssubscribe", "ssubscribe", "queue" },
        { ">hunter2 ~* resetchannels +@all", "channel", "queue" },
        { ">hunter2 ~other:* &* +@all", "key", NULL },
        { ">hunter2 ~* &* +@all -eval -evalsha", "eval", "queue" },
        { ">hunter2 ~* &* +@all -set", "'set'", "token" },
    };

    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        allow(i, ">hunter2 ~* &* +@all");
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (rules[i].protocol != NULL && strcmp(rules[i].protocol, cluster_protocol()) != 0)
            continue;
        allow(BAD, rules[i].rule);
        check_lock_at(BAD, BOWLINE_REFUSED, rules[i].part, "ann:hunter2@");
        check_lock_at(BAD, BOWLINE_REFUSED, "PERMISSIONS", "ann:hunter2@");
        check_lock_at(BAD - 1, BOWLINE_OK, "", "ann:hunter2@");
    }
}

/* The URL has only the node that works; it redirects to a host that does not exist. */
TEST(cluster_announced_name_does_not_resolve)
{
    bowline_hold *hold = NULL;
    char          url[64];

    if (!server_is_new())
        skip_because("before Redis 7.0 a node cannot announce a host name");
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", c->nodes[0]->port);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        assert_string_equal(server_ask(c->nodes[i],
                                       "CONFIG SET cluster-preferred-endpoint-type hostname "
                                       "cluster-announce-hostname node%u.invalid",
                                       i),
                            "OK");
    assert_true(server_comes_to(c->nodes[0], "node1.invalid", "CLUSTER SLOTS"));
    bowline_client *client = must_open(url);
    for (int64_t wait_ms = 0; wait_ms <= 300; wait_ms += 300) {
        bowline_error error = { 0 };
        int status = acquire_within(&hold, client, cluster_name_at(BAD, 0), wait_ms, &error);
        assert_status(BOWLINE_REFUSED, status, &error);
        assert_non_null(strstr(error.text, "sends to node1.invalid:"));
        assert_non_null(strstr(error.text, "cluster-announce-hostname"));
        assert_non_null(strstr(error.text, "the host \"node1.invalid\" is not known"));
    }
    assert_status(BOWLINE_OK, try_once(client, cluster_name_at(0, 0)), NULL);
    bowline_close(client);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        (void)server_ask(c->nodes[i], "CONFIG SET cluster-announce-hostname ''");
    assert_true(server_comes_to(c->nodes[0], "?", "CLUSTER SLOTS"));
    client              = must_open(url);
    bowline_error error = { 0 };
    assert_status(BOWLINE_REFUSED,
                  acquire_within(&hold, client, cluster_name_at(BAD, 0), 86400000, &error), &error);
    assert_non_null(strstr(error.text, "the cluster does not say where that node is"));
    bowline_close(client);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        (void)server_ask(c->nodes[i], "CONFIG SET cluster-preferred-endpoint-type ip");
}

AROUND(begin, end)
