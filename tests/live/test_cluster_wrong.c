/*
 * test_cluster_wrong.c -- what can be wrong with one node of a cluster while the others are fine,
 * and URLs that are not meant for what is there: each says what it is, and what to type.
 *
 * One cluster, of which what was made wrong is made right again.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/cluster.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { BAD = 1 }; /* the node that is made wrong */

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

/* A lock of that node, by the user of these tests.  A refusal is the same for who would wait. */
static void comes_to(unsigned node, int status, const char *part, const char *user)
{
    bowline_hold *hold = NULL;
    char          url[400];

    (void)snprintf(url, sizeof url, "redis+cluster://%s%s?protocol=%s", user,
                   c->url + strlen("redis+cluster://"), cluster_protocol());
    for (int64_t wait_ms = 0; wait_ms <= 86400000; wait_ms += 86400000) {
        bowline_error   error  = { 0 };
        bowline_client *client = must_open(url);
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

static void only_the_bad_one(const char *part)
{
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        comes_to(i, i == BAD ? BOWLINE_REFUSED : BOWLINE_OK, part, "ann:hunter2@");
}

TEST(cluster_password_of_one_node_is_another)
{
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        allow(i, i == BAD ? ">other ~* &* +@all" : ">hunter2 ~* &* +@all");
    only_the_bad_one("does not accept this user and password (WRONGPASS)");
    assert_string_equal(server_ask(c->nodes[BAD], "ACL DELUSER ann"), "1");
    only_the_bad_one("does not accept this user and password (WRONGPASS)");
}

TEST(cluster_user_may_too_little_at_one_node)
{
    static const struct {
        const char *rule;
        const char *part;
        const char *protocol; /* that needs what the rule lacks; NULL: every one */
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
        comes_to(BAD, BOWLINE_REFUSED, rules[i].part, "ann:hunter2@");
        comes_to(BAD, BOWLINE_REFUSED, "PERMISSIONS", "ann:hunter2@");
        comes_to(BAD - 1, BOWLINE_OK, "", "ann:hunter2@");
    }
}

/* The same for a URL of the one node that is fine: it is sent on to where nobody is. */
TEST(cluster_name_that_is_announced_does_not_resolve)
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
