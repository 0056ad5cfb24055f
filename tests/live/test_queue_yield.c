/*
 * test_queue_yield.c -- yield with protocol queue on a real server: one command grants the lock to
 * the next waiter and enqueues the holder behind all waiters.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { WAIT_MS = 60000 };

static char url[200];
static char long_url[220]; /* with a lease that is longer than any wait of the test */

static bowline_operation *start_yield(bowline_hold *hold)
{
    bowline_operation *op = NULL;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
    (void)bowline_operation_wait(op, 20, NULL); /* the command is written */
    return op;
}

/* ---- the order ------------------------------------------------------------------------------- */

TEST(yield_enqueues_the_holder_behind_all_waiters)
{
    waiter b, c;

    bowline_client *client = must_open(url);
    bowline_client *others = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    queue_await_join(redis, &b, others, "x", 1);
    queue_await_join(redis, &c, others, "x", 2);
    bowline_operation *op = start_yield(hold);
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    assert_true(queue_await_size(redis, "x", 2)); /* two: the yielding client too */
    assert_true(bowline_hold_fence(b.hold) > fence);
    fence = bowline_hold_fence(b.hold);
    assert_false(atomic_load(&c.ended));
    must_release(b.hold);
    assert_status(BOWLINE_OK, waiter_join(&c), &c.error);
    assert_true(bowline_hold_fence(c.hold) > fence);
    fence = bowline_hold_fence(c.hold);
    assert_int_equal(bowline_operation_done(op), 0);
    must_release(c.hold);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_true(bowline_hold_fence(hold) > fence);
    assert_true(bowline_hold_left_ms(hold) > 0);
    must_release(hold);
    bowline_close(others);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* The server received the command and has not executed it when the connection ends: the token in
 * the key has no owner now, and must be released first. */
TEST(yield_grants_to_the_waiter_when_its_connection_ends)
{
    waiter b;

    bowline_client *client = must_open(long_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_client *other  = must_open(url);
    queue_await_join(redis, &b, other, "x", 1);
    (void)server_ask(redis, "CLIENT PAUSE 60000 WRITE");
    bowline_operation *op = start_yield(hold);
    (void)server_ask(redis, "CLIENT KILL TYPE pubsub"); /* all clients with a push channel */
    (void)server_ask(redis, "CLIENT UNPAUSE");
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    assert_int_equal(bowline_operation_done(op), 0);
    must_release(b.hold);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    must_release(hold);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* The client receives no reply any more: a CANCEL behind REQUEUE undoes it. */
TEST(close_during_a_yield_leaves_no_key)
{
    for (int cancels = 0; cancels < 2; cancels++) {
        bowline_operation *op     = NULL;
        bowline_client    *client = must_open_without_renewal_thread(url);
        bowline_hold      *hold   = must_acquire(client, "x");
        assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
        if (cancels == 1)
            bowline_cancel(op);
        bowline_close(client);
        assert_true(queue_await_no_keys(redis));
    }
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    (void)snprintf(long_url, sizeof long_url, "%s&lease=10m", url);
    return 0;
}

AROUND(open_server, stop_server)
