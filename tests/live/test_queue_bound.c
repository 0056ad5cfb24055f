/*
 * test_queue_bound.c -- protocol queue with ?queue-max=: as many wait as may, and who comes then is
 * told so at once.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { BOUND = 3 };

static char url[200];
static char bounded_url[220];

FIXTURE(empty_server, NULL)

/* A place that was lost is taken again by its ticket, though the line has filled meanwhile. */
TEST(who_stood_there_before_comes_back_though_it_is_full)
{
    waiter w[BOUND];

    bowline_client *client = must_open(bounded_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    queue_await_join(redis, &w[0], client, "x", 1);
    (void)server_ask(redis, "DEL bowline:{x}:bwl.q");
    for (int i = 1; i < BOUND + 1; i++) /* before he has noticed, as a rule */
        (void)server_ask(
            redis, "ZADD bowline:{x}:bwl.q 9007199254740%d 'b1:v%d n bowline:i:%d 2000'", i, i, i);
    assert_true(queue_await_size(redis, "x", BOUND + 1));
    must_release(hold);
    assert_status(BOWLINE_OK, waiter_join(&w[0]), &w[0].error);
    must_release(w[0].hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* Nobody has the lock, and as many stand there as may, all dead: it is passed on to who comes. */
TEST(line_that_is_full_of_the_dead_refuses_nobody)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    bowline_client *client = must_open(bounded_url);
    for (int i = 0; i < 2 * BOUND; i++)
        (void)server_ask(redis, "ZADD bowline:{x}:bwl.q %d 'b1:v%d n bowline:i:%d 2000'", i + 1, i,
                         i);
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", 5000, &error), &error);
    must_release(hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue&turns=1", redis->tcp_url);
    (void)snprintf(bounded_url, sizeof bounded_url, "%s&queue-max=%d", url, BOUND);
    return 0;
}

AROUND(open_server, stop_server)
