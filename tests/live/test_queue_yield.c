/*
 * test_queue_yield.c -- protocol queue on a real server: who has the lock gives it to who waits,
 * by one command, and stands behind all who wait.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/witness.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAIT_MS = 60000 };

static char url[200];
static char long_url[220]; /* what is left behind is there for longer than anybody waits        */

static bowline_operation *yields(bowline_hold *hold)
{
    bowline_operation *op = NULL;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
    (void)bowline_operation_wait(op, 20, NULL); /* what it asks is written */
    return op;
}

/* ---- who gets it ----------------------------------------------------------------------------- */

TEST(who_yields_stands_behind_all_who_wait)
{
    waiter b, c;

    bowline_client *client = must_open(url);
    bowline_client *others = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    queue_await_join(redis, &b, others, "x", 1);
    queue_await_join(redis, &c, others, "x", 2);
    bowline_operation *op = yields(hold);
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    assert_true(queue_await_size(redis, "x", 2)); /* and not one */
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

/* ---- what may go wrong ----------------------------------------------------------------------- */

/* The server has the question and does not carry it out before the connection is gone: the token
 * that is in the lock is nobody's any more, and goes before all else. */
TEST(who_is_cut_off_while_he_yields_gives_it_on_all_the_same)
{
    waiter b;

    bowline_client *client = must_open(long_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_client *other  = must_open(url);
    queue_await_join(redis, &b, other, "x", 1);
    (void)server_ask(redis, "CLIENT PAUSE 60000 WRITE");
    bowline_operation *op = yields(hold);
    (void)server_ask(redis, "CLIENT KILL TYPE pubsub"); /* whoever has an inbox */
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

/* Nobody hears an answer any more: what REQUEUE has done all the same is undone behind it. */
TEST(closing_takes_back_what_is_being_yielded)
{
    for (int cancels = 0; cancels < 2; cancels++) {
        bowline_operation *op     = NULL;
        bowline_client    *client = must_open_without_keeper(url);
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
