/*
 * test_loop.c -- how the threads inside one client share its event loop: one runs it, the others
 * sleep.
 *
 * One client holds names, threads of the other wait for them.  A thread whose operation has
 * completed must return, and the others must go on, whichever of them runs the loop at that moment.
 * The failure that is looked for is a hang, which the time limit of the test program ends.
 */
#include "api/handles.h"
#include "tests/lib/testing.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { NAMES = 4, ROUNDS = 10, SHORT_MS = 20 };

static bowline_client    *holder;
static bowline_client    *client;
static bowline_hold      *held[NAMES];
static bowline_operation *ops[NAMES];
static bowline_error      error;

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int open_clients(void **state)
{
    (void)state;
    holder = must_open_without_keeper("thread:");
    client = must_open_without_keeper("thread:");
    return 0;
}

static int close_clients(void **state)
{
    (void)state;
    bowline_close(client);
    bowline_close(holder);
    return 0;
}

static void hold_and_seek(unsigned count, int64_t wait_ms)
{
    char name[8];

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        held[i] = must_acquire(holder, name);
        assert_status(BOWLINE_OK,
                      bowline_acquire_start(&ops[i], client, name,
                                            BOWLINE_ACQUIRE(.wait_ms = wait_ms), &error),
                      &error);
        assert_false(bowline_operation_done(ops[i]));
    }
}

static void release(unsigned i)
{
    assert_status(BOWLINE_OK, bowline_release(held[i], &error), &error);
}

static void finish(unsigned i, int status)
{
    bowline_hold *hold = NULL;

    assert_status(status, bowline_acquire_finish(&hold, ops[i], &error), &error);
    if (hold != NULL)
        assert_status(BOWLINE_OK, bowline_release(hold, &error), &error);
}

/* ---- a thread that waits --------------------------------------------------------------------- */

typedef struct waiting {
    pthread_t          thread;
    bowline_operation *op;
    int64_t            wait_ms;
    int                status;
    atomic_bool        is_inside; /* or about to be */
} waiting;

static void *wait_for_op(void *arg)
{
    waiting *w = arg;

    atomic_store(&w->is_inside, true);
    w->status = bowline_operation_wait(w->op, w->wait_ms, NULL);
    return NULL;
}

static void start(waiting *w, unsigned i, int64_t wait_ms)
{
    *w = (waiting){ .op = ops[i], .wait_ms = wait_ms };
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_op, w), 0);
    while (!atomic_load(&w->is_inside))
        (void)sched_yield();
}

static void assert_returns(waiting *w, int status)
{
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    assert_int_equal(w->status, status);
}

/* ---- one thread ------------------------------------------------------------------------------ */

static void test_drive_wait_ends_in_time_and_leaves_the_operation_as_it_is(void **state)
{
    (void)state;
    hold_and_seek(1, BOWLINE_FOREVER);
    int64_t begun = now_ms();
    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(ops[0], SHORT_MS, &error), &error);
    assert_true(now_ms() - begun >= SHORT_MS - 1); /* two clocks that count whole milliseconds */
    assert_false(bowline_operation_done(ops[0]));
    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(ops[0], 0, &error), &error);
    release(0);
    assert_status(BOWLINE_OK, bowline_operation_wait(ops[0], BOWLINE_FOREVER, &error), &error);
    assert_status(BOWLINE_OK, bowline_operation_wait(ops[0], 0, &error), &error);
    finish(0, BOWLINE_OK);
}

/* ---- many threads ---------------------------------------------------------------------------- */

/* The thread that runs the loop leaves first, last, or in between. */
static void test_drive_thread_returns_when_its_operation_completes(void **state)
{
    static const unsigned orders[][NAMES] = {
        { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 3, 0, 1 }, { 1, 3, 0, 2 }
    };
    waiting threads[NAMES];

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const unsigned *order = orders[round % 4];
        hold_and_seek(NAMES, BOWLINE_FOREVER);
        for (unsigned i = 0; i < NAMES; i++)
            start(&threads[i], i, BOWLINE_FOREVER);
        for (unsigned i = 0; i < NAMES; i++) {
            release(order[i]);
            assert_returns(&threads[order[i]], BOWLINE_OK);
            for (unsigned j = i + 1; j < NAMES; j++)
                assert_false(bowline_operation_done(ops[order[j]]));
        }
        for (unsigned i = 0; i < NAMES; i++)
            finish(i, BOWLINE_OK);
    }
}

/* The thread whose time is over runs the loop, or sleeps: the first that waits runs it. */
static void test_drive_thread_whose_time_is_over_returns_and_the_others_go_on(void **state)
{
    waiting threads[3];

    (void)state;
    for (unsigned brief = 0; brief < 3; brief++) {
        hold_and_seek(3, BOWLINE_FOREVER);
        for (unsigned i = 0; i < 3; i++)
            start(&threads[i], i, i == brief ? SHORT_MS : BOWLINE_FOREVER);
        assert_returns(&threads[brief], BOWLINE_TIMEOUT);
        for (unsigned i = 0; i < 3; i++)
            release(i);
        for (unsigned i = 0; i < 3; i++)
            if (i != brief)
                assert_returns(&threads[i], BOWLINE_OK);
        assert_status(BOWLINE_OK, bowline_operation_wait(ops[brief], BOWLINE_FOREVER, &error),
                      &error);
        for (unsigned i = 0; i < 3; i++)
            finish(i, BOWLINE_OK);
    }
}

static void test_drive_cancel_by_another_thread_ends_the_wait(void **state)
{
    waiting threads[2];

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        hold_and_seek(2, BOWLINE_FOREVER);
        for (unsigned i = 0; i < 2; i++)
            start(&threads[i], i, BOWLINE_FOREVER);
        for (unsigned i = 0; i < 2; i++)
            bowline_cancel(ops[(i + round) % 2]);
        for (unsigned i = 0; i < 2; i++) {
            assert_returns(&threads[i], BOWLINE_OK);
            finish(i, BOWLINE_CANCELLED);
            release(i);
        }
    }
}

static void test_drive_many_threads_may_wait_for_the_same_operation(void **state)
{
    waiting other, brief, same[3];

    (void)state;
    hold_and_seek(2, BOWLINE_FOREVER);
    start(&other, 0, BOWLINE_FOREVER);
    for (unsigned i = 0; i < 3; i++)
        start(&same[i], 1, BOWLINE_FOREVER);
    start(&brief, 1, SHORT_MS);
    assert_returns(&brief, BOWLINE_TIMEOUT);
    release(1);
    for (unsigned i = 0; i < 3; i++)
        assert_returns(&same[i], BOWLINE_OK);
    assert_false(bowline_operation_done(ops[0]));
    release(0);
    assert_returns(&other, BOWLINE_OK);
    for (unsigned i = 0; i < 2; i++)
        finish(i, BOWLINE_OK);
}

/* ---- without descriptors --------------------------------------------------------------------- */

/* Nothing can be waited for, but time goes on. */
static void test_drive_an_acquire_ends_in_time_where_no_descriptor_can_be_had(void **state)
{
    struct rlimit before;
    unsigned      refused = 0;

    (void)state;
    hold_and_seek(1, 2 * SHORT_MS);
    bwl_shard_lock(client->first);
    bwl_reactor_close(&client->first->host.reactor); /* the engine has opened it */
    bwl_shard_unlock(client->first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, before.rlim_max }), 0);
    while (!bowline_operation_done(ops[0]))
        refused += bowline_operation_wait(ops[0], BOWLINE_FOREVER, NULL) == BOWLINE_SYSTEM;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(refused > 0);
    finish(0, BOWLINE_TIMEOUT);
    release(0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_clients, close_clients)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_drive_wait_ends_in_time_and_leaves_the_operation_as_it_is),
        CASE(test_drive_thread_returns_when_its_operation_completes),
        CASE(test_drive_thread_whose_time_is_over_returns_and_the_others_go_on),
        CASE(test_drive_cancel_by_another_thread_ends_the_wait),
        CASE(test_drive_many_threads_may_wait_for_the_same_operation),
        CASE(test_drive_an_acquire_ends_in_time_where_no_descriptor_can_be_had),
    };

    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
