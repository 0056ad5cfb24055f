/*
 * test_fault_kill.c -- the server closes every connection (CLIENT KILL) in each phase of a hold:
 * waiting, acquiring, held, extending, releasing.
 *
 * CLIENT PAUSE holds a request back: its connection is killed before the request is executed, or
 * after it, so that the reply is lost.
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { LEASE_MS = 900 };

static server  *redis;
static witness *judge;
static char     holder_url[200];
static char     rival_url[200];
static char     long_lease_url[200]; /* with a lease that is longer than any delay of the machine */

static void kill_all(void)
{
    server_hang_up(redis);
}

typedef struct in_flight {
    bowline_client    *client;
    bowline_operation *op;
} in_flight;

/* Kills the connections ten times during the operation, some of them while a pause holds the
 * request back. */
static void kill_during(in_flight c)
{
    for (int i = 0; i < 10; i++) {
        if (i % 3 == 0)
            (void)server_ask(redis, "CLIENT PAUSE 60 WRITE");
        (void)bowline_operation_wait(c.op, (int64_t)i, NULL);
        kill_all();
        (void)bowline_operation_wait(c.op, 3, NULL);
    }
}

static void while_waiting(bowline_client *client)
{
    bowline_client    *other = must_open(long_lease_url);
    bowline_hold      *first = must_acquire(other, "x");
    bowline_hold      *hold  = NULL;
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };

    int status = bowline_acquire_start(&op, client, "x", BOWLINE_ACQUIRE(.wait_ms = 20000), &error);
    assert_status(BOWLINE_OK, status, &error);
    kill_during((in_flight){ client, op });
    assert_false(bowline_operation_done(op));
    assert_true(bowline_hold_left_ms(first) > 0);
    status = bowline_release(first, &error);
    assert_true(status == BOWLINE_OK || status == BOWLINE_UNKNOWN);
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, &error), &error);
    lock_holder *b = holder_start(judge, hold);
    sleep_ms(20);
    (void)holder_stop(b);
    give_back_or_lose(hold);
    bowline_close(other);
}

static void while_acquiring(bowline_client *client)
{
    bowline_hold      *hold  = NULL;
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };

    (void)server_ask(redis, "CLIENT PAUSE 60 WRITE");
    int status = bowline_acquire_start(&op, client, "x", BOWLINE_ACQUIRE(.wait_ms = 20000), &error);
    assert_status(BOWLINE_OK, status, &error);
    kill_during((in_flight){ client, op });
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, &error), &error);
    lock_holder *b = holder_start(judge, hold);
    sleep_ms(20);
    (void)holder_stop(b);
    give_back_or_lose(hold);
}

static void while_held(bowline_client *client)
{
    for (int rounds = 1;; rounds++) {
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        rival        *r    = rival_start(judge, rival_url, "x");
        for (int i = 0; i < 40; i++) {
            kill_all();
            sleep_ms(LEASE_MS / 20);
        }
        bool kept = bowline_hold_left_ms(hold) > 0 && rival_hold_count(r) == 0;
        (void)holder_stop(b);
        int status = bowline_release(hold, NULL);
        assert_true(rival_await_hold(r));
        rival_stop(r);
        if (keeps_in_round(kept, status, rounds))
            return;
    }
}

/* LOST: the machine was slow. UNREACHABLE: killed before the request was sent. */
static bool is_possible_after_kill(int status)
{
    return status == BOWLINE_OK || status == BOWLINE_UNKNOWN || status == BOWLINE_UNREACHABLE ||
           status == BOWLINE_LOST;
}

static void while_extending(bowline_client *client)
{
    bowline_hold      *hold  = must_acquire(client, "x");
    lock_holder       *b     = holder_start(judge, hold);
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };

    (void)server_ask(redis, "CLIENT PAUSE 60 WRITE");
    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 0, &error), &error);
    kill_during((in_flight){ client, op });
    int status = bowline_finish(op, &error);
    (void)holder_stop(b);
    assert_true(is_possible_after_kill(status));
    if (status != BOWLINE_LOST) /* LOST: the machine was slow */
        status = bowline_extend(hold, 0, &error);
    /* The next connection may be killed while it connects: the request is sent only once. */
    if (status == BOWLINE_UNREACHABLE || status == BOWLINE_UNKNOWN)
        status = bowline_extend(hold, 0, &error);
    if (status != BOWLINE_LOST)
        assert_status(BOWLINE_OK, status, &error);
    give_back_or_lose(hold);
}

static void while_releasing(bowline_client *client)
{
    bowline_hold      *hold  = must_acquire(client, "x");
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };

    (void)server_ask(redis, "CLIENT PAUSE 60 WRITE");
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, &error), &error);
    kill_during((in_flight){ client, op });
    int status = bowline_finish(op, &error);
    assert_true(is_possible_after_kill(status));
}

TEST(lock_is_free_within_the_lease_after_a_kill_in_each_phase)
{
    static void (*const phases[])(bowline_client * client) = {
        while_waiting, while_acquiring, while_held, while_extending, while_releasing,
    };

    for (size_t i = 0; i < COUNT_OF(phases); i++) {
        for (int again = 0; again < 3; again++) {
            bowline_client *client = must_open(holder_url);
            must_be_free(client, "warm up");
            phases[i](client);
            rival *r = rival_start(judge, rival_url, "x");
            assert_true(rival_await_hold(r)); /* within the lease */
            rival_stop(r);
            bowline_close(client);
            assert_true(server_becomes_empty(redis));
        }
    }
    assert_one_at_a_time(judge);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int server_starts(void **state)
{
    redis = server_start(NULL);
    judge = witness_new();
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms", redis->tcp_url, LEASE_MS);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms", redis->unix_url, LEASE_MS);
    (void)snprintf(long_lease_url, sizeof long_lease_url, "%s?lease=10s", redis->unix_url);
    return 0;
}

static int stop_server(void **state)
{
    judge_dismiss(judge);
    server_stop(redis);
    return 0;
}

AROUND(server_starts, stop_server)
