/*
 * test_cohort_ends.c -- what ends the turns of one client's threads before their time, on a real
 * server: a loss, a line that breaks, a server that goes, a process that is killed, a client that
 * is closed.
 */
#include "tests/lib/line.h"
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/witness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEATS = 4, WAIT_MS = 60000 };

static char url[200];

static bowline_operation *sits(bowline_client *client, int64_t wait_ms)
{
    const bowline_acquire_options *options = BOWLINE_ACQUIRE(.wait_ms = wait_ms);
    bowline_operation             *op      = NULL;

    assert_status(BOWLINE_OK, bowline_acquire_start(&op, client, "x", options, NULL), NULL);
    return op;
}

static bowline_hold *must_win(bowline_operation *op)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, &error), &error);
    return hold;
}

/* Connected, and with a keeper that drives what was started. */
static bowline_client *must_open_warm(const char *where)
{
    bowline_client *client = must_open(where);

    must_release(must_acquire(client, "warm"));
    return client;
}

/* The first of SEATS who sit has his turn. */
static bowline_hold *take_turn(bowline_client *client, bowline_operation *ops[SEATS])
{
    bowline_hold *hold = must_acquire(client, "x");

    for (int i = 0; i < SEATS; i++)
        ops[i] = sits(client, WAIT_MS);
    assert_true(line_comes_to(redis, "x", 1));
    must_release(hold);
    return must_win(ops[0]);
}

static void take_the_others(bowline_operation *ops[SEATS], uint64_t fence)
{
    for (int i = 1; i < SEATS; i++) {
        bowline_hold *hold = must_win(ops[i]);
        assert_true(bowline_hold_fence(hold) > fence);
        fence = bowline_hold_fence(hold);
        must_release(hold);
    }
}

static bool comes_to_be_lost(bowline_hold *hold)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1))
        if (bowline_hold_left_ms(hold) == 0)
            return true;
    return false;
}

/* ---- the store ends it ----------------------------------------------------------------------- */

static void test_a_server_that_comes_back_empty_ends_the_turn(void **state)
{
    bowline_operation *ops[SEATS];

    bowline_client *client = must_open_warm(url);
    bowline_hold   *hold   = take_turn(client, ops);
    uint64_t        fence  = bowline_hold_fence(hold);
    server_restart(redis);
    assert_true(comes_to_be_lost(hold));
    take_the_others(ops, fence);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* ---- the line breaks ------------------------------------------------------------------------- */

static void test_a_cut_in_a_turn_and_while_all_wait(void **state)
{
    bowline_operation *ops[SEATS];

    bowline_client *client = must_open_warm(url);
    bowline_client *other  = must_open_warm(url);
    bowline_hold   *hold   = take_turn(client, ops);
    server_hang_up(redis);
    must_release(hold); /* to each other: no line is needed */
    hold = must_win(ops[1]);
    must_release(hold);
    hold = must_win(ops[2]);
    server_hang_up(redis);
    must_release(hold);
    must_release(must_win(ops[3]));
    hold = must_acquire(other, "x");
    for (int i = 0; i < SEATS; i++)
        ops[i] = sits(client, WAIT_MS);
    assert_true(line_comes_to(redis, "x", 2));
    server_hang_up(redis);
    assert_true(line_can_be_told(redis, "x"));
    (void)bowline_release(hold, NULL); /* it may have been cut while it was written */
    for (int i = 0; i < SEATS; i++)
        must_release(must_win(ops[i]));
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* ---- the process ends it --------------------------------------------------------------------- */

/* Threads that hand it on to each other, until they are killed in the middle of it. */
static void *goes_on(void *arg)
{
    for (;;) {
        bowline_hold *hold = NULL;
        if (acquire_within(&hold, arg, "x", WAIT_MS, NULL) == BOWLINE_OK)
            (void)bowline_release(hold, NULL);
    }
    return NULL;
}

static int go_on(const char *where)
{
    pthread_t       threads[SEATS];
    bowline_error   error;
    bowline_client *client = NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the test fails */
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = where), &error) != BOWLINE_OK)
        return 1;
    for (int i = 0; i < SEATS; i++)
        if (pthread_create(&threads[i], NULL, goes_on, client) != 0)
            return 1;
    (void)pause();
    return 0;
}

/* What it has is gone with its lease, and those who sat there wait for nobody. */
static void test_a_process_that_is_killed_costs_its_lease(void **state)
{
    char short_url[220];

    (void)snprintf(short_url, sizeof short_url, "%s?lease=1s", redis->tcp_url);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(go_on(short_url));
        bowline_hold *hold = NULL;
        sleep_ms(50 + 10 * i);
        bowline_client *client = must_open(url);
        assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", WAIT_MS, NULL), NULL);
        must_release(hold); /* it has had its turn among theirs */
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        int64_t begun = clock_ms();
        assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", WAIT_MS, NULL), NULL);
        assert_true(clock_ms() - begun < WAIT_MS / 2);
        must_release(hold);
        bowline_close(client);
    }
    (void)server_ask(redis, "FLUSHALL");
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?turns-time=1h", redis->tcp_url);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_comes_back_empty_ends_the_turn),
        cmocka_unit_test(test_a_cut_in_a_turn_and_while_all_wait),
        cmocka_unit_test(test_a_process_that_is_killed_costs_its_lease),
    };
    return cmocka_run_group_tests(tests, open_server, stop_server);
}
