/*
 * test_host_moves_many.c -- the name of a redlock:// server, or of a node in the URL of a cluster,
 * resolves to another address than before. The test resolves the names (names.h).
 */
#include "tests/lib/cluster.h"
#include "tests/lib/names.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>

#define ADDRESS_1 "127.0.0.1"
#define ADDRESS_2 "127.0.0.2"

enum { SERVERS = 3, PATIENCE_MS = 20000 };

/* The new server is empty; an extension creates the key on it. */
TEST(redlock_server_at_a_new_address_gets_the_key_again)
{
    server *servers[SERVERS];
    char    url[160], options[80];

    server_needed();
    for (unsigned i = 0; i < SERVERS; i++)
        servers[i] = server_start(NULL);
    name_leads_to("vote.test", ADDRESS_1);
    (void)snprintf(url, sizeof url, "redlock://%s:%d,%s:%d,vote.test:%d?restart-wait=off",
                   ADDRESS_1, servers[0]->port, ADDRESS_1, servers[1]->port, servers[2]->port);
    (void)snprintf(options, sizeof options, "--bind %s --port %d", ADDRESS_2, servers[2]->port);
    server         *moved  = server_start(options);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    assert_true(server_comes_to(servers[2], "1", "EXISTS bowline:{x}"));
    name_leads_to("vote.test", ADDRESS_2);
    server_kill(servers[2]);
    for (int64_t end = clock_ms() + PATIENCE_MS;
         strcmp(server_ask(moved, "EXISTS bowline:{x}"), "1") != 0 && clock_ms() < end;) {
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
        sleep_ms(20);
    }
    assert_string_equal(server_ask(moved, "EXISTS bowline:{x}"), "1");
    must_release(hold);
    bowline_close(client);
    assert_true(server_becomes_empty(moved));
    server_stop(moved);
    for (unsigned i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
}

TEST(cluster_name_in_the_url_is_resolved_for_each_attempt)
{
    bowline_hold *hold = NULL;
    char          url[80];

    cluster *c = cluster_start(false);
    name_leads_to("seed.test", ADDRESS_2); /* no server listens there */
    (void)snprintf(url, sizeof url, "redis+cluster://seed.test:%d?protocol=%s", c->nodes[0]->port,
                   cluster_protocol());
    bowline_client *client = must_open(url);
    assert_status(BOWLINE_UNREACHABLE, try_once(client, cluster_name_at(1, 0)), NULL);
    name_leads_to("seed.test", ADDRESS_1);
    assert_status(BOWLINE_OK,
                  acquire_within(&hold, client, cluster_name_at(1, 0), PATIENCE_MS, NULL), NULL);
    must_release(hold);
    bowline_close(client);
    cluster_stop(c);
}
