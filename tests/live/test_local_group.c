/*
 * test_local_group.c -- threads and operations of one client that want the same lock, on a real
 * server.  They hand it on without a command to the server, in the order of their arrival, and
 * other clients wait for a limited number of handoffs; also when the server, the connection or the
 * process ends in between.
 *
 * The server counts its commands.  The witness checks mutual exclusion.
 */
#include "tests/lib/line.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/witness.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16, ROUNDS = 200, TURNS = 64, FEW = 4, WAIT_MS = 60000, SEATS = 10, ENDS = 4 };

static witness *judge;
static char     url[200];     /* time is no bound: a slow machine takes as many turns           */
static char     url_few[200]; /* likewise, with few turns                                      */

/* ---- helpers --------------------------------------------------------------------------------- */

static long scripts_run(void)
{
    return line_count(redis, "evalsha") + line_count(redis, "eval");
}

static bowline_operation *sits(bowline_client *client, const char *name, int64_t wait_ms)
{
    const bowline_acquire_options *options = BOWLINE_ACQUIRE(.wait_ms = wait_ms);
    bowline_operation             *op      = NULL;

    assert_status(BOWLINE_OK, bowline_acquire_start(&op, client, name, options, NULL), NULL);
    return op;
}

/* Connected, and with a keeper that drives what was started. */
static bowline_client *must_open_warm(const char *where)
{
    bowline_client *client = must_open(where);

    must_release(must_acquire(client, "warm"));
    return client;
}

static bowline_hold *must_win(bowline_operation *op)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, &error), &error);
    return hold;
}

static void assert_nobody_met(void)
{
    witness_verdict verdict = witness_judge(judge);

    assert_int_equal(verdict.collisions, 0);
    assert_int_equal(verdict.fences_backward, 0);
}

/* ---- a crowd of threads ---------------------------------------------------------------------- */

/* So many turns are taken by all of them: nobody is left alone with the last ones. */
typedef struct guest {
    pthread_t       thread;
    bowline_client *client;
    bowline_operation
               *first; /* sits before anybody's thread runs: nobody is alone with the first */
    atomic_int *left;  /* turns that nobody has begun */
    int         failed;
    int         nth; /* of these releases one is not waited for; 0: none */
} guest;

static void *comes_and_goes(void *arg)
{
    guest        *g    = arg;
    bowline_hold *hold = NULL;
    int           got  = bowline_acquire_finish(&hold, g->first, NULL);

    for (int i = 0;; i++) {
        witness_visit inside;
        if (got != BOWLINE_OK) {
            g->failed++;
            break;
        }
        bool alone = witness_enter(judge, &inside, bowline_hold_fence(hold));
        witness_leave(&inside);
        int status = g->nth != 0 && i % g->nth == 0 ? bowline_release_nowait(hold, NULL)
                                                    : bowline_release(hold, NULL);
        g->failed += alone && status == BOWLINE_OK ? 0 : 1;
        if (atomic_fetch_sub(g->left, 1) <= 0)
            break;
        got = acquire_within(&hold, g->client, "x", WAIT_MS, NULL);
    }
    return NULL;
}

/* `left` is the turns that come after the first one of each, until crowd_leaves(). */
static void crowd_comes(bowline_client *client, guest *guests, int count, int nth, atomic_int *left)
{
    atomic_init(left, count * (ROUNDS - 1));
    for (int i = 0; i < count; i++)
        guests[i] = (guest){
            .client = client, .first = sits(client, "x", WAIT_MS), .left = left, .nth = nth
        };
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&guests[i].thread, NULL, comes_and_goes, &guests[i]), 0);
}

static void crowd_leaves(guest *guests, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(guests[i].thread, NULL), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(guests[i].failed, 0);
}

static void test_sixteen_threads_ask_the_server_once_in_twenty_turns(void **state)
{
    guest      guests[THREADS];
    atomic_int left;

    bowline_client *client = must_open_warm(url);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    crowd_comes(client, guests, THREADS, 0, &left);
    crowd_leaves(guests, THREADS);
    long asked = scripts_run();
    print_message("# %ld scripts for %d turns\n", asked, THREADS * ROUNDS);
    assert_true(asked * 20 <= THREADS * ROUNDS);
    assert_nobody_met();
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Of a crowd that would go on for ever, others see FEW turns. */
static void test_others_wait_for_so_many_turns(void **state)
{
    bowline_operation *ops[SEATS];
    bowline_client    *client = must_open_warm(url_few);
    bowline_client    *other  = must_open_warm(url_few);
    int                turns  = 0;

    bowline_hold *hold = must_acquire(client, "x");
    for (int i = 0; i < SEATS; i++)
        ops[i] = sits(client, "x", WAIT_MS);
    assert_true(line_comes_to(redis, "x", 1));
    must_release(hold);
    hold                        = must_win(ops[0]); /* the turns of the cohort begin */
    bowline_operation *remotely = sits(other, "x", WAIT_MS);
    assert_true(line_comes_to(redis, "x", 1));
    for (turns = 1; turns <= SEATS; turns++) {
        must_release(hold);
        if (turns == FEW)
            break;
        hold = must_win(ops[turns]);
        assert_int_equal(bowline_operation_done(remotely), 0);
    }
    hold = must_win(remotely); /* and they stand behind it */
    assert_true(line_comes_to(redis, "x", 1));
    assert_int_equal(bowline_operation_done(ops[FEW]), 0);
    must_release(hold);
    for (int i = FEW; i < SEATS; i++)
        must_release(must_win(ops[i]));
    bowline_close(client);
    bowline_close(other);
    assert_true(line_leaves_nothing(redis));
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* The first of ENDS who sit has his turn. */
static bowline_hold *take_turn(bowline_client *client, bowline_operation *ops[ENDS])
{
    bowline_hold *hold = must_acquire(client, "x");

    for (int i = 0; i < ENDS; i++)
        ops[i] = sits(client, "x", WAIT_MS);
    assert_true(line_comes_to(redis, "x", 1));
    must_release(hold);
    return must_win(ops[0]);
}

static void take_the_others(bowline_operation *ops[ENDS], uint64_t fence)
{
    for (int i = 1; i < ENDS; i++) {
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

static void test_a_server_that_comes_back_empty_ends_the_turn(void **state)
{
    bowline_operation *ops[ENDS];

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

static void test_a_cut_in_a_turn_and_while_all_wait(void **state)
{
    bowline_operation *ops[ENDS];

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
    for (int i = 0; i < ENDS; i++)
        ops[i] = sits(client, "x", WAIT_MS);
    assert_true(line_comes_to(redis, "x", 2));
    server_hang_up(redis);
    assert_true(line_can_be_told(redis, "x"));
    (void)bowline_release(hold, NULL); /* it may have been cut while it was written */
    for (int i = 0; i < ENDS; i++)
        must_release(must_win(ops[i]));
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

static int open_server(void **state)
{
    (void)start_server(state);
    judge = witness_new();
    (void)snprintf(url, sizeof url, "%s?turns=%d&turns-time=1h", redis->tcp_url, TURNS);
    (void)snprintf(url_few, sizeof url_few, "%s?turns=%d&turns-time=1h", redis->tcp_url, FEW);
    return 0;
}

static int close_server(void **state)
{
    witness_free(judge);
    return stop_server(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sixteen_threads_ask_the_server_once_in_twenty_turns),
        cmocka_unit_test(test_others_wait_for_so_many_turns),
        cmocka_unit_test(test_a_server_that_comes_back_empty_ends_the_turn),
        cmocka_unit_test(test_a_cut_in_a_turn_and_while_all_wait),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
