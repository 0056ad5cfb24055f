/*
 * test_cluster_stopped.c -- a node of a cluster is stopped: it keeps its connections, accepts new
 * ones, and answers nothing.  tests/session/cluster.txt has the times.
 */
#include "tests/lib/cluster.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <bowline/async.h>

#include <signal.h>
#include <stdio.h>

enum { NODE = 1, PATIENCE_MS = 60000 };

static cluster *c;

static int begin(void **state)
{
    cluster_queue_needed();
    c = cluster_start(true);
    return 0;
}

static int end(void **state)
{
    if (c != NULL && c->nodes[NODE]->pid != 0)
        server_signal(c->nodes[NODE], SIGCONT);
    cluster_stop(c);
    c = NULL;
    return 0;
}

FIXTURE(begin, end)

TEST(waiter_acquires_after_a_node_stops)
{
    bowline_hold      *hold = NULL;
    bowline_operation *op   = NULL;
    char               name[24];
    char               url[400];

    (void)snprintf(url, sizeof url, "%s?lease=2s&timeout=1s", c->url);
    (void)snprintf(name, sizeof name, "%s", cluster_name_at(NODE, 0));
    bowline_client         *holder  = must_open(url);
    bowline_client         *second  = must_open(url);
    bowline_hold           *held    = must_acquire(holder, name);
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    options.wait_ms                 = PATIENCE_MS;
    assert_status(BOWLINE_OK, bowline_acquire_start(&op, second, name, &options, NULL), NULL);
    server_signal(c->nodes[NODE], SIGSTOP);
    (void)bowline_release(held, NULL); /* or it is lost */
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, NULL), NULL);
    must_release(hold);
    bowline_close(holder);
    bowline_close(second);
}
