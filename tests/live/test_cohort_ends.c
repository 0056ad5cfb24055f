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

/* Is more than that left of it, or not, within ten seconds?  False also if it is lost. */
static bool comes_to_have_left(bowline_hold *hold, int64_t left_ms, bool is_more)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1)) {
        int64_t left = bowline_hold_left_ms(hold);
        if (left == 0 || (left > left_ms) == is_more)
            return left > 0;
    }
    return false;
}

/* ---- the store ends it ----------------------------------------------------------------------- */

/* An extension finds out; whoever has the turn is told, and the others have it again. */
static void test_a_loss_is_told_to_whose_turn_it_is(void **state)
{
    bowline_operation *ops[SEATS];
    bowline_error      error = { 0 };

    bowline_client *client = must_open_warm(url);
    bowline_hold   *hold   = take_turn(client, ops);
    uint64_t        fence  = bowline_hold_fence(hold);
    (void)server_ask(redis, "DEL bowline:{x}");
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, &error), &error);
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    bowline_hold *next = must_win(ops[1]);
    assert_true(bowline_hold_fence(next) > fence);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    must_release(next);
    must_release(must_win(ops[2]));
    must_release(must_win(ops[3]));
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* The renewal that nobody has asked for finds out. */
static void test_a_loss_that_the_renewal_finds_is_an_event(void **state)
{
    bowline_operation *ops[SEATS];
    char               short_url[220];

    (void)snprintf(short_url, sizeof short_url, "%s?lease=6s&turns-time=1h", redis->tcp_url);
    bowline_client *client = must_open_warm(short_url);
    bowline_hold   *hold   = take_turn(client, ops);
    uint64_t        fence  = bowline_hold_fence(hold);
    int64_t         begin  = clock_ms();
    (void)server_ask(redis, "DEL bowline:{x}");
    assert_true(comes_to_be_lost(hold));
    assert_true(clock_ms() < begin + 5000); /* and not by the end of the lease */
    take_the_others(ops, fence);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* A third of the lease is over then. */
static void test_it_is_renewed_for_whose_turn_it_is(void **state)
{
    bowline_operation *ops[SEATS];
    char               short_url[220];

    (void)snprintf(short_url, sizeof short_url, "%s?lease=6s&turns-time=1h", redis->tcp_url);
    bowline_client *client = must_open_warm(short_url);
    bowline_hold   *hold   = take_turn(client, ops);
    assert_true(comes_to_have_left(hold, 5000, true)); /* it was won with less, for a start */
    assert_true(comes_to_have_left(hold, 5000, false));
    assert_true(comes_to_have_left(hold, 5000, true));
    uint64_t fence = bowline_hold_fence(hold);
    must_release(hold);
    take_the_others(ops, fence);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* Its own end comes, and the next one has it; the store was not told to end it. */
static void test_max_hold_ends_a_turn_and_not_the_others(void **state)
{
    bowline_operation *ops[2];

    bowline_client *client = must_open_warm(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    assert_status(BOWLINE_OK,
                  bowline_acquire_start(&ops[0], client, "x",
                                        BOWLINE_ACQUIRE(.wait_ms = WAIT_MS, .max_hold_ms = 100),
                                        NULL),
                  NULL);
    ops[1] = sits(client, WAIT_MS);
    must_release(hold);
    hold               = must_win(ops[0]);
    bowline_hold *next = must_win(ops[1]);
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    must_release(next);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

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

/* Nobody has answered for as long as they would wait. */
static void test_a_server_that_is_gone_is_said_to_be(void **state)
{
    bowline_hold *none = NULL;

    bowline_client *client = must_open_warm(url);
    server_kill(redis);
    bowline_operation *first     = sits(client, 300);
    bowline_operation *second    = sits(client, 200);
    int                of_second = bowline_acquire_finish(&none, second, NULL);
    int                of_first  = bowline_acquire_finish(&none, first, NULL);
    server_start_again(redis);
    /* What was written before the break was seen may have been carried out. */
    assert_true(of_first == BOWLINE_UNREACHABLE || of_first == BOWLINE_UNKNOWN);
    assert_true(of_second == BOWLINE_UNREACHABLE || of_second == BOWLINE_UNKNOWN);
    bowline_close(client);
}

/* ---- the process ends it --------------------------------------------------------------------- */

static void test_closing_lets_everything_go(void **state)
{
    bowline_operation *ops[SEATS];
    bowline_hold      *hold = NULL;

    for (int turn = 0; turn < 2; turn++) {
        bowline_client *client = must_open_warm(url);
        bowline_client *other  = must_open_warm(url);
        if (turn == 1) {
            (void)take_turn(client, ops);
        } else {
            hold = must_acquire(other, "x");
            for (int i = 0; i < SEATS; i++)
                ops[i] = sits(client, WAIT_MS);
            assert_true(line_comes_to(redis, "x", 2));
            must_release(hold);
        }
        bowline_close(client);
        assert_status(BOWLINE_OK, acquire_within(&hold, other, "x", 10000, NULL), NULL);
        must_release(hold);
        bowline_close(other);
        assert_true(line_leaves_nothing(redis));
    }
}

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

/* The child has the handles, and nothing that it does reaches the store or the parent. */
static int of_the_child(void *arg)
{
    bowline_hold *hold = arg;

    return bowline_release(hold, NULL) == BOWLINE_FORKED && bowline_hold_left_ms(hold) == 0 ? 0 : 1;
}

static void test_a_child_has_no_turn(void **state)
{
    bowline_operation *ops[SEATS];

    bowline_client *client = must_open_warm(url);
    bowline_hold   *hold   = take_turn(client, ops);
    assert_int_equal(in_child(of_the_child, hold), 0);
    uint64_t fence = bowline_hold_fence(hold);
    must_release(hold);
    take_the_others(ops, fence);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
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
        cmocka_unit_test(test_a_loss_is_told_to_whose_turn_it_is),
        cmocka_unit_test(test_a_loss_that_the_renewal_finds_is_an_event),
        cmocka_unit_test(test_it_is_renewed_for_whose_turn_it_is),
        cmocka_unit_test(test_max_hold_ends_a_turn_and_not_the_others),
        cmocka_unit_test(test_a_server_that_comes_back_empty_ends_the_turn),
        cmocka_unit_test(test_a_cut_in_a_turn_and_while_all_wait),
        cmocka_unit_test(test_a_server_that_is_gone_is_said_to_be),
        cmocka_unit_test(test_closing_lets_everything_go),
        cmocka_unit_test(test_a_process_that_is_killed_costs_its_lease),
        cmocka_unit_test(test_a_child_has_no_turn),
    };
    return cmocka_run_group_tests(tests, open_server, stop_server);
}
