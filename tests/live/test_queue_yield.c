/*
 * test_queue_yield.c -- protocol queue on a real server: who has the lock gives it to who waits,
 * by one command, and stands behind all who wait.
 */
#include "tests/lib/line.h"
#include "tests/lib/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 60000, ROUNDS = 20 };

static server *redis;
static char    url[200];
static char long_url[220]; /* what is left behind is there for longer than anybody waits        */

static bowline_operation *yields(bowline_hold *hold)
{
    bowline_operation *op = NULL;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
    (void)bowline_operation_wait(op, 20, NULL); /* what it asks is written */
    return op;
}

static long scripts_run(void)
{
    return line_count(redis, "evalsha") + line_count(redis, "eval");
}

/* ---- who gets it ----------------------------------------------------------------------------- */

static void test_who_yields_stands_behind_all_who_wait(void **state)
{
    waiter b, c;

    (void)state;
    bowline_client *client = must_open(url);
    bowline_client *others = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    line_join(redis, &b, others, "x", 1);
    line_join(redis, &c, others, "x", 2);
    bowline_operation *op = yields(hold);
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    assert_true(line_comes_to(redis, "x", 2)); /* and not one */
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
    assert_true(line_leaves_nothing(redis));
}

static void test_who_yields_to_nobody_asks_once_and_holds(void **state)
{
    (void)state;
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    assert_status(BOWLINE_OK, bowline_yield(hold, WAIT_MS, NULL), NULL);
    assert_int_equal(scripts_run(), 1);
    assert_true(bowline_hold_fence(hold) > fence);
    assert_true(bowline_hold_left_ms(hold) > 20000); /* a lease, no claim */
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    must_release(hold);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* ---- two who take turns ---------------------------------------------------------------------- */

typedef struct guest {
    pthread_t     thread;
    bowline_hold *hold;
    witness      *judge;
    atomic_int   *turns; /* of both */
    int           seen[ROUNDS];
    int           status;
    bool          met;
} guest;

static void *take_turns(void *arg)
{
    guest *g = arg;

    for (int i = 0; i < ROUNDS; i++) {
        witness_visit inside;
        g->status = i == 0 ? BOWLINE_OK : bowline_yield(g->hold, WAIT_MS, NULL);
        if (g->status != BOWLINE_OK)
            return NULL;
        g->met     = !witness_enter(g->judge, &inside, bowline_hold_fence(g->hold)) || g->met;
        g->seen[i] = atomic_fetch_add(g->turns, 1);
        witness_leave(&inside);
    }
    g->status = bowline_release(g->hold, NULL);
    return NULL;
}

/* One question of who yields, one of who confirms: and no turn is had twice. */
static void test_two_who_yield_take_turns(void **state)
{
    atomic_int turns = 0;
    witness   *judge = witness_new();
    waiter     second;

    (void)state;
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    guest           a      = { .hold = must_acquire(client, "x"), .judge = judge, .turns = &turns };
    guest           b      = { .judge = judge, .turns = &turns };
    line_join(redis, &second, other, "x", 1);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    assert_int_equal(pthread_create(&a.thread, NULL, take_turns, &a), 0);
    assert_status(BOWLINE_OK, waiter_join(&second), &second.error);
    b.hold = second.hold;
    assert_int_equal(pthread_create(&b.thread, NULL, take_turns, &b), 0);
    assert_int_equal(pthread_join(a.thread, NULL), 0);
    assert_int_equal(pthread_join(b.thread, NULL), 0);
    assert_status(BOWLINE_OK, a.status, NULL);
    assert_status(BOWLINE_OK, b.status, NULL);
    assert_false(a.met || b.met);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(a.seen[i], 2 * i);
        assert_int_equal(b.seen[i], 2 * i + 1);
    }
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    /* all turns but a's first and b's are handed over by REQUEUE, b's last by RELEASE; each of
     * those is confirmed, and the two releases */
    assert_true(scripts_run() - line_count(redis, "zrank") <= 4 * ROUNDS + 2);
    witness_free(judge);
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* ---- what may go wrong ----------------------------------------------------------------------- */

static void test_what_is_not_ours_is_not_yielded(void **state)
{
    (void)state;
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    (void)server_ask(redis, "SET bowline:{x} of-another");
    assert_status(BOWLINE_LOST, bowline_yield(hold, WAIT_MS, NULL), NULL);
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), "of-another");
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    (void)server_ask(redis, "DEL bowline:{x}");
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

static void test_who_yields_and_waits_no_longer_leaves_nothing(void **state)
{
    waiter b;

    (void)state;
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    line_join(redis, &b, other, "x", 1);
    assert_status(BOWLINE_TIMEOUT, bowline_yield(hold, 50, NULL), NULL);
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    assert_true(line_comes_to(redis, "x", 0));
    must_release(b.hold);
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* The server has the question and does not carry it out before the connection is gone: the token
 * that is in the lock is nobody's any more, and goes before all else. */
static void test_who_is_cut_off_while_he_yields_gives_it_on_all_the_same(void **state)
{
    waiter b;

    (void)state;
    bowline_client *client = must_open(long_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_client *other  = must_open(url);
    line_join(redis, &b, other, "x", 1);
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
    assert_true(line_leaves_nothing(redis));
}

static void test_who_is_cancelled_while_he_yields_gives_it_on_all_the_same(void **state)
{
    waiter b;

    (void)state;
    bowline_client *client = must_open(long_url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    line_join(redis, &b, other, "x", 1);
    (void)server_ask(redis, "SCRIPT FLUSH"); /* REQUEUE is asked twice, if it is wanted still */
    (void)server_ask(redis, "CLIENT PAUSE 60000 WRITE");
    bowline_operation *op = yields(hold);
    bowline_cancel(op);
    assert_status(BOWLINE_CANCELLED, bowline_finish(op, NULL), NULL);
    (void)server_ask(redis, "CLIENT UNPAUSE");
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(line_comes_to(redis, "x", 0));
    must_release(b.hold);
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* The server has no memory left: to yield needs none. */
static void test_who_yields_may_when_memory_is_full(void **state)
{
    waiter b;

    (void)state;
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    (void)server_ask(redis, "CONFIG SET maxmemory-policy noeviction maxmemory 1");
    assert_status(BOWLINE_OK, bowline_yield(hold, WAIT_MS, NULL), NULL);
    (void)server_ask(redis, "CONFIG SET maxmemory 0");
    line_join(redis, &b, other, "x", 1);
    (void)server_ask(redis, "CONFIG SET maxmemory 1");
    bowline_operation *op = yields(hold);
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    must_release(b.hold);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    must_release(hold);
    (void)server_ask(redis, "CONFIG SET maxmemory 0");
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

static void test_closing_takes_back_what_was_yielded(void **state)
{
    waiter b;

    (void)state;
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    line_join(redis, &b, other, "x", 1);
    (void)yields(hold);
    bowline_close(client);
    assert_status(BOWLINE_OK, waiter_join(&b), &b.error);
    must_release(b.hold);
    bowline_close(other);
    assert_true(line_leaves_nothing(redis));
}

/* Nobody hears an answer any more: what REQUEUE has done all the same is undone behind it. */
static void test_closing_takes_back_what_is_being_yielded(void **state)
{
    (void)state;
    for (int cancels = 0; cancels < 2; cancels++) {
        bowline_operation *op     = NULL;
        bowline_client    *client = must_open_without_keeper(url);
        bowline_hold      *hold   = must_acquire(client, "x");
        assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
        if (cancels == 1)
            bowline_cancel(op);
        bowline_close(client);
        assert_true(line_leaves_nothing(redis));
    }
}

/* Both releases, of a hold that is being yielded: it was given away, and is not ours to give. */
static void test_releasing_takes_back_what_is_being_yielded(void **state)
{
    int (*const releases[])(bowline_hold *, bowline_error *) = { bowline_release,
                                                                 bowline_release_nowait };

    (void)state;
    for (int i = 0; i < 2; i++) {
        bowline_operation *op     = NULL;
        bowline_client    *client = must_open_without_keeper(url);
        bowline_hold      *hold   = must_acquire(client, "x");
        assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
        assert_status(BOWLINE_LOST, releases[i](hold, NULL), NULL);
        assert_status(BOWLINE_CANCELLED, bowline_finish(op, NULL), NULL);
        assert_status(BOWLINE_OK, bowline_flush_releases(client, 0, NULL),
                      NULL); /* nothing to tell */
        assert_status(
            BOWLINE_OK,
            bowline_acquire(&hold, client, "x", BOWLINE_ACQUIRE(.wait_ms = WAIT_MS), NULL), NULL);
        must_release(hold);
        bowline_close(client);
        assert_true(line_leaves_nothing(redis));
    }
}

/* A release that is on its way is of another token, and of another hold. */
static void test_what_was_released_before_is_not_in_the_way(void **state)
{
    (void)state;
    bowline_client *client = must_open_without_keeper(url);
    bowline_hold   *before = must_acquire(client, "x");
    assert_status(BOWLINE_OK, bowline_release_nowait(before, NULL), NULL);
    bowline_hold *hold = must_acquire(client, "x");
    assert_status(BOWLINE_OK, bowline_yield(hold, WAIT_MS, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release_nowait(hold, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

static int open_server(void **state)
{
    (void)state;
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    (void)snprintf(long_url, sizeof long_url, "%s&lease=10m", url);
    return 0;
}

static int close_server(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_yields_stands_behind_all_who_wait),
        cmocka_unit_test(test_who_yields_to_nobody_asks_once_and_holds),
        cmocka_unit_test(test_two_who_yield_take_turns),
        cmocka_unit_test(test_what_is_not_ours_is_not_yielded),
        cmocka_unit_test(test_who_yields_and_waits_no_longer_leaves_nothing),
        cmocka_unit_test(test_who_is_cut_off_while_he_yields_gives_it_on_all_the_same),
        cmocka_unit_test(test_who_is_cancelled_while_he_yields_gives_it_on_all_the_same),
        cmocka_unit_test(test_who_yields_may_when_memory_is_full),
        cmocka_unit_test(test_closing_takes_back_what_was_yielded),
        cmocka_unit_test(test_closing_takes_back_what_is_being_yielded),
        cmocka_unit_test(test_releasing_takes_back_what_is_being_yielded),
        cmocka_unit_test(test_what_was_released_before_is_not_in_the_way),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
