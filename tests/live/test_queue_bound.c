/*
 * test_queue_bound.c -- protocol queue with ?queue-max=: a waiter that was in the queue rejoins it
 * when it is full, and dead waiters do not fill it.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { BOUND = 3 };

static char url[200];
static char bounded_url[220];

FIXTURE(empty_server, NULL)

/* A waiter that lost its queue entry rejoins with its ticket, although the queue is full now. */
TEST(earlier_waiter_rejoins_a_full_queue)
{
    waiter w[BOUND];

    bowline_client *client = must_open(bounded_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    queue_await_join(redis, &w[0], client, "x", 1);
    (void)server_ask(redis, "DEL bowline:{x}:bwl.q");
    for (int i = 1; i < BOUND + 1; i++) /* usually before its next heartbeat */
        (void)server_ask(
            redis, "ZADD bowline:{x}:bwl.q 9007199254740%d 'b1:v%d n bowline:i:%d 2000'", i, i, i);
    assert_true(queue_await_size(redis, "x", BOUND + 1));
    must_release(hold);
    assert_status(BOWLINE_OK, waiter_join(&w[0]), &w[0].error);
    must_release(w[0].hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* The lock is free and the queue is full of dead waiters: the acquire succeeds. */
TEST(acquire_succeeds_when_the_queue_is_full_of_dead_waiters)
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
