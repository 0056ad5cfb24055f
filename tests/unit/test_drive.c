/*
 * test_drive.c -- who waits, drives: how the threads inside one client take turns.
 *
 * One client holds names, the other one waits for them with several threads: one of these waits for
 * events, the others sleep.  Whatever happens, a thread whose operation has ended must not sleep
 * on, and there must always be one who drives.  A hang of this program is the failure that is
 * looked for, so each step that could hang is watched by a clock.
 */
#include "base/clock.h"
#include "runtime/lock.h"
#include "api/engines.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

enum { PATIENCE_MS = 5000 };

static bwl_shard *holder;
static bwl_shard *client;
static bwl_fault   fault;

static int open_clients(void **state)
{
    static const bwl_settings nothing;

    (void)state;
    assert_int_equal(bwl_shard_open(&holder, bwl_engines, &nothing, false, "thread:", &fault),
                     BWL_OK);
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, "thread:", &fault),
                     BWL_OK);
    return 0;
}

static int close_clients(void **state)
{
    (void)state;
    bwl_shard_close(holder);
    bwl_shard_close(client);
    return 0;
}

static bwl_lock *ask(bwl_shard *whose, bwl_operation *op, const char *name, bwl_ms wait_ms)
{
    const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 5000 };
    bwl_lock       *lock;

    bwl_shard_lock(whose);
    int status = bwl_lock_new(&lock, whose, name, &terms, &fault);
    if (status == BWL_OK)
        bwl_lock_acquire(lock, op, wait_ms);
    bwl_shard_unlock(whose);
    assert_int_equal(status, BWL_OK); /* unlocked: the teardown would wait for the mutex */
    return lock;
}

static void release(bwl_lock *lock)
{
    bwl_operation op;

    bwl_shard_lock(lock->shard);
    bwl_lock_release(lock, &op);
    bwl_shard_unlock(lock->shard);
    assert_int_equal(op.completion.result, BWL_RELEASED);
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* ---- a thread that waits --------------------------------------------------------------------- */

typedef struct waiter {
    pthread_t      thread;
    bwl_operation *operation;
    bwl_ms         until;
    int            status;
    atomic_bool    left;
} waiter;

static void *wait_for_it(void *arg)
{
    waiter *w = arg;

    bwl_shard_lock(client);
    w->status = bwl_loop_wait(&client->loop, &w->operation->completion, w->until, NULL);
    bwl_shard_unlock(client);
    atomic_store(&w->left, true);
    return NULL;
}

static size_t sleepers(void)
{
    size_t count = 0;

    bwl_shard_lock(client);
    const bwl_waiting_thread *before = NULL;
    for (const bwl_waiting_thread *s = client->loop.waiting_threads; s != NULL; s = s->next) {
        assert_ptr_equal(s->previous, before);
        before = s;
        count++;
    }
    bwl_shard_unlock(client);
    return count;
}

/* Who was called, or has to let others come, is not among them for a moment. */
static void assert_sleepers(size_t count)
{
    bwl_ms end = bwl_clock_now() + PATIENCE_MS;

    while (sleepers() != count) {
        assert_true(bwl_clock_now() < end);
        nap();
    }
}

static bool is_driven(void)
{
    bwl_shard_lock(client);
    bool driving = client->loop.is_running;
    bwl_shard_unlock(client);
    return driving;
}

/* Starts it, and waits until it drives, or sleeps as the so-and-so-many-th.  False: it has left
 * before that was seen. */
static bool is_in_place(waiter *w, bwl_operation *op, bwl_ms until, size_t place)
{
    *w = (waiter){ .operation = op, .until = until };
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
    bwl_ms end = bwl_clock_now() + PATIENCE_MS;
    while (place == 0 ? !is_driven() : sleepers() != place) {
        assert_true(bwl_clock_now() < end);
        if (atomic_load(&w->left))
            return false;
        nap();
    }
    return true;
}

static void start(waiter *w, bwl_operation *op, bwl_ms until, size_t place)
{
    assert_true(is_in_place(w, op, until, place));
}

static void assert_leaves(waiter *w, int status)
{
    bwl_ms begin = bwl_clock_now();

    while (!atomic_load(&w->left) && bwl_clock_now() - begin < PATIENCE_MS)
        nap();
    assert_true(atomic_load(&w->left));
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    assert_int_equal(w->status, status);
}

/* One whose time will be over; until when.  Where it was over before he was seen, this machine was
 * late, and he has twice the time. */
static bwl_ms start_for(waiter *w, bwl_operation *op, bwl_ms ms, size_t place)
{
    bwl_ms until = bwl_clock_now() + ms;

    while (!is_in_place(w, op, until, place)) {
        assert_leaves(w, BWL_STATUS_TIMEOUT);
        assert_true(ms < PATIENCE_MS);
        ms *= 2;
        until = bwl_clock_now() + ms;
    }
    return until;
}

static void assert_stays(const waiter *w)
{
    for (unsigned i = 0; i < 10; i++)
        nap();
    assert_false(atomic_load(&w->left));
}

/* ---- one thread ------------------------------------------------------------------------------ */

static void test_drive_wait_ends_in_time_and_leaves_the_operation_as_it_is(void **state)
{
    bwl_operation        op;
    bwl_lock            *held = ask(holder, &op, "n", 0);
    static bwl_operation waits;

    (void)state;
    (void)ask(client, &waits, "n", BWL_NEVER);
    bwl_shard_lock(client);
    bwl_ms begin = bwl_shard_now(client);
    assert_int_equal(bwl_loop_wait(&client->loop, &waits.completion, begin + 20, &fault),
                     BWL_STATUS_TIMEOUT);
    assert_true(bwl_shard_now(client) >= begin + 20);
    assert_int_equal(waits.completion.result, BWL_PENDING);
    assert_int_equal(bwl_loop_wait(&client->loop, &waits.completion, begin, &fault),
                     BWL_STATUS_TIMEOUT);
    bwl_shard_unlock(client);
    release(held);
    bwl_shard_lock(client);
    assert_int_equal(bwl_loop_wait(&client->loop, &waits.completion, BWL_NEVER, &fault), BWL_OK);
    assert_int_equal(waits.completion.result, BWL_HELD);
    assert_int_equal(bwl_loop_wait(&client->loop, &waits.completion, begin, &fault),
                     BWL_OK); /* ended long ago */
    bwl_shard_unlock(client);
}

static unsigned woken_count;

static void count_woken(bwl_host *host)
{
    (void)host;
    woken_count++;
}

static void test_drive_rings_the_timers_that_are_due(void **state)
{
    bwl_engine engine = *client->host.engine;

    (void)state;
    woken_count         = 0;
    engine.woken        = count_woken;
    client->host.engine = &engine;
    bwl_shard_lock(client);
    bwl_ms begin = bwl_shard_now(client);
    bwl_timers_set(&client->loop.timers, &client->loop.engine_timer, begin + 3600000);
    assert_int_equal(bwl_loop_run(&client->loop, begin, &fault), BWL_OK);
    assert_int_equal(woken_count, 0);
    bwl_timers_set(&client->loop.timers, &client->loop.engine_timer, begin + 20);
    assert_int_equal(bwl_loop_run(&client->loop, BWL_NEVER, &fault), BWL_OK);
    assert_int_equal(woken_count, 1);
    assert_true(bwl_shard_now(client) >= begin + 20);
    assert_true(bwl_loop_next_timer(&client->loop) == BWL_NEVER);
    bwl_loop_wake(&client->loop);
    assert_int_equal(bwl_loop_run(&client->loop, BWL_NEVER, &fault), BWL_OK);
    assert_int_equal(woken_count, 2);
    engine.woken = NULL; /* an engine that has nothing to do then */
    bwl_loop_wake(&client->loop);
    assert_int_equal(bwl_loop_run(&client->loop, BWL_NEVER, &fault), BWL_OK);
    assert_int_equal(woken_count, 2);
    assert_false(client->loop.is_running);
    bwl_shard_unlock(client);
    client->host.engine = &bwl_thread_engine;
}

static void test_drive_sleep_ends_in_time(void **state)
{
    pthread_cond_t cond;

    (void)state;
    bwl_cond_init(&cond);
    bwl_shard_lock(client);
    bwl_ms begin = bwl_shard_now(client);
    bwl_loop_sleep(&client->loop, &cond, begin - 1);
    assert_true(bwl_shard_now(client) < begin + 1000);
    begin = bwl_shard_now(client);
    while (bwl_shard_now(client) < begin + 30) /* it may wake for no reason */
        bwl_loop_sleep(&client->loop, &cond, begin + 30);
    assert_in_range(bwl_shard_now(client), begin + 30, begin + 30 + PATIENCE_MS);
    bwl_shard_unlock(client);
    (void)pthread_cond_destroy(&cond);
}

/* ---- many threads ---------------------------------------------------------------------------- */

/* Names that are held, and as many operations that wait for them. */
static bwl_lock     *held[4];
static bwl_operation waits[4];
static bwl_lock     *sought[4];

static void hold_and_seek(unsigned count)
{
    bwl_operation op;
    char          name[8];

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        held[i]   = ask(holder, &op, name, 0);
        sought[i] = ask(client, &waits[i], name, BWL_NEVER);
        assert_int_equal(waits[i].completion.result, BWL_PENDING);
    }
}

static void test_drive_driver_dispatches_for_who_sleeps(void **state)
{
    waiter drives, sleeps;

    (void)state;
    hold_and_seek(2);
    start(&drives, &waits[0], BWL_NEVER, 0);
    start(&sleeps, &waits[1], BWL_NEVER, 1);
    release(held[1]);
    assert_leaves(&sleeps, BWL_OK);
    assert_int_equal(waits[1].completion.result, BWL_HELD);
    assert_stays(&drives);
    release(held[0]);
    assert_leaves(&drives, BWL_OK);
}

static void test_drive_sleeper_takes_over_when_the_driver_leaves(void **state)
{
    waiter threads[3];

    (void)state;
    hold_and_seek(3);
    for (unsigned i = 0; i < 3; i++)
        start(&threads[i], &waits[i], BWL_NEVER, i);
    for (unsigned i = 0; i < 3; i++) {
        release(held[i]);
        assert_leaves(&threads[i], BWL_OK);
    }
    assert_sleepers(0);
    assert_false(is_driven());
}

static void test_drive_sleeper_leaves_the_middle_of_the_list(void **state)
{
    waiter threads[4];

    (void)state;
    hold_and_seek(4);
    for (unsigned i = 0; i < 4; i++)
        start(&threads[i], &waits[i], BWL_NEVER, i);
    release(held[2]);
    assert_leaves(&threads[2], BWL_OK);
    assert_sleepers(2);
    release(held[3]);
    assert_leaves(&threads[3], BWL_OK);
    release(held[0]);
    release(held[1]);
    assert_leaves(&threads[0], BWL_OK);
    assert_leaves(&threads[1], BWL_OK);
    assert_sleepers(0);
}

static void test_drive_sleeper_whose_time_is_over_leaves(void **state)
{
    waiter drives, sleeps;

    (void)state;
    hold_and_seek(2);
    start(&drives, &waits[0], BWL_NEVER, 0);
    bwl_ms until = start_for(&sleeps, &waits[1], 50, 1);
    assert_leaves(&sleeps, BWL_STATUS_TIMEOUT);
    assert_true(bwl_clock_now() >= until);
    assert_sleepers(0);
    release(held[0]);
    assert_leaves(&drives, BWL_OK);
}

static void test_drive_driver_whose_time_is_over_hands_over(void **state)
{
    waiter drives, sleeps;
    bwl_ms until = bwl_clock_now() + 3600000;

    (void)state;
    hold_and_seek(2);
    start(&drives, &waits[0], until, 0);
    start(&sleeps, &waits[1], BWL_NEVER, 1);
    bwl_shard_lock(client);
    client->host.latest = until;
    bwl_loop_wake(&client->loop);
    bwl_shard_unlock(client);
    assert_leaves(&drives, BWL_STATUS_TIMEOUT);
    release(held[1]);
    assert_leaves(&sleeps, BWL_OK);
}

static void test_drive_cancel_by_another_thread_ends_the_wait(void **state)
{
    waiter drives, sleeps;

    (void)state;
    hold_and_seek(2);
    start(&drives, &waits[0], BWL_NEVER, 0);
    start(&sleeps, &waits[1], BWL_NEVER, 1);
    bwl_shard_lock(client);
    bwl_lock_cancel(&waits[1]);
    bwl_lock_cancel(&waits[0]);
    bwl_shard_unlock(client);
    assert_leaves(&sleeps, BWL_OK);
    assert_leaves(&drives, BWL_OK);
    assert_int_equal(waits[0].completion.result, BWL_CANCELLED);
    assert_int_equal(waits[1].completion.result, BWL_CANCELLED);
}

static void test_drive_many_threads_may_wait_for_the_same_operation(void **state)
{
    waiter drives, one, two, three;

    (void)state;
    hold_and_seek(2);
    start(&drives, &waits[0], BWL_NEVER, 0);
    start(&one, &waits[1], BWL_NEVER, 1);
    start(&two, &waits[1], BWL_NEVER, 2);
    (void)start_for(&three, &waits[1], 50, 3);
    assert_leaves(&three, BWL_STATUS_TIMEOUT);
    release(held[1]);
    assert_leaves(&two, BWL_OK);
    assert_leaves(&one, BWL_OK);
    assert_stays(&drives);
    release(held[0]);
    assert_leaves(&drives, BWL_OK);
}

/* ---- without descriptors --------------------------------------------------------------------- */

/* Nothing can be waited for, but time goes on. */
static void test_drive_a_wait_ends_in_time_where_no_descriptor_can_be_had(void **state)
{
    struct rlimit before;
    struct rlimit none;
    bwl_operation taken;
    bwl_operation wants;

    (void)state;
    bwl_lock *other = ask(holder, &taken, "a", 0);
    bwl_lock *lock  = ask(client, &wants, "a", 30);
    assert_int_equal(wants.completion.result, BWL_PENDING);
    bwl_shard_lock(client);
    bwl_reactor_close(&client->host.reactor);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){ 0, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = BWL_STATUS_SYSTEM;
    for (bwl_ms end = bwl_clock_now() + PATIENCE_MS;
         wants.completion.result == BWL_PENDING && bwl_clock_now() < end; nap())
        status = bwl_loop_run(&client->loop, BWL_NEVER, &fault);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, BWL_STATUS_SYSTEM);
    assert_int_equal(wants.completion.result, BWL_TIMED_OUT);
    assert_int_equal(bwl_loop_wait(&client->loop, &wants.completion, BWL_NEVER, &fault), BWL_OK);
    bwl_lock_drop_handle(lock);
    bwl_shard_unlock(client);
    release(other);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_clients, close_clients)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_drive_wait_ends_in_time_and_leaves_the_operation_as_it_is),
        CASE(test_drive_rings_the_timers_that_are_due),
        CASE(test_drive_sleep_ends_in_time),
        CASE(test_drive_driver_dispatches_for_who_sleeps),
        CASE(test_drive_sleeper_takes_over_when_the_driver_leaves),
        CASE(test_drive_sleeper_leaves_the_middle_of_the_list),
        CASE(test_drive_sleeper_whose_time_is_over_leaves),
        CASE(test_drive_driver_whose_time_is_over_hands_over),
        CASE(test_drive_cancel_by_another_thread_ends_the_wait),
        CASE(test_drive_many_threads_may_wait_for_the_same_operation),
        CASE(test_drive_a_wait_ends_in_time_where_no_descriptor_can_be_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
