/*
 * test_engines_async.c -- start, wait, finish and cancel in every order, and a client on an event
 * loop of the caller, on every engine.
 */
#include "tests/lib/engines.h"
#include "tests/lib/inside.h"

#include <poll.h>

/* Finishes an acquire that was not granted. */
static void must_fail(bowline_operation *op, int expected)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    assert_status(expected, bowline_acquire_finish(&hold, op, &error), &error);
    assert_null(hold);
}

/* ---- start, wait, finish --------------------------------------------------------------------- */

ENGINE_TEST(start_and_finish)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);

    must_release(must_finish(must_start(client, engine_lock(), BOWLINE_NO_WAIT)));
    must_release(must_finish(must_start(client, engine_lock(), 1000)));
    must_release(must_finish(must_start(client, engine_lock(), BOWLINE_FOREVER)));
}

ENGINE_TEST(wait_and_finish)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_NO_WAIT);
    bowline_error      error  = { 0 };

    assert_status(BOWLINE_OK, bowline_operation_wait(op, BOWLINE_FOREVER, &error), &error);
    assert_int_equal(bowline_operation_done(op), 1);
    assert_status(BOWLINE_OK, bowline_operation_wait(op, BOWLINE_FOREVER, &error), &error);
    assert_status(BOWLINE_OK, bowline_operation_wait(op, 0, &error), &error);
    must_release(must_finish(op));
}

ENGINE_TEST(operation_ends_with_occasional_dispatches)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_NO_WAIT);
    int64_t            end    = clock_ms() + 10000;
    int                status;

    while ((status = bowline_operation_wait(op, 0, NULL)) == BOWLINE_TIMEOUT && clock_ms() < end)
        sleep_ms(1);
    assert_status(BOWLINE_OK, status, NULL);
    must_release(must_finish(op));
}

ENGINE_TEST(wait_for_an_operation_times_out)
{
    bowline_client    *one   = engine_client(THE_ENGINE, NULL);
    bowline_client    *two   = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold  = must_acquire(one, engine_lock());
    bowline_operation *op    = must_start(two, engine_lock(), 30000);
    bowline_error      error = { 0 };

    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(op, 60, &error), &error);
    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(op, 0, &error), &error);
    assert_int_equal(bowline_operation_done(op), 0);
    must_release(hold);
    assert_status(BOWLINE_OK, bowline_operation_wait(op, 20000, &error), &error);
    must_release(must_finish(op));
}

ENGINE_TEST(two_operations_on_one_name)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *first  = must_start(client, engine_lock(), 30000);
    bowline_operation *second = must_start(client, engine_lock(), 30000);

    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(second, 30, NULL), NULL);
    must_release(hold);
    if (THE_ENGINE->in_order) {
        must_release(must_finish(first));
        must_release(must_finish(second));
    } else {
        while (!bowline_operation_done(first) && !bowline_operation_done(second))
            assert_status(BOWLINE_OK, bowline_dispatch(client, 1000, NULL), NULL);
        bool is_first = bowline_operation_done(first);
        must_release(must_finish(is_first ? first : second));
        must_release(must_finish(is_first ? second : first));
    }
}

/* ---- cancel ---------------------------------------------------------------------------------- */

ENGINE_TEST(cancel_of_a_waiting_acquire)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_FOREVER);

    bowline_cancel(op);
    bowline_cancel(op);
    assert_int_equal(bowline_operation_done(op), 1);
    must_fail(op, BOWLINE_CANCELLED);
    op = must_start(client, engine_lock(), BOWLINE_FOREVER);
    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(op, 30, NULL), NULL);
    bowline_cancel(op);
    assert_status(BOWLINE_OK, bowline_operation_wait(op, BOWLINE_FOREVER, NULL), NULL);
    must_fail(op, BOWLINE_CANCELLED);
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
}

/* Granted or not: finish says which, and afterwards the lock is free. */
ENGINE_TEST(cancel_of_an_acquire_that_may_be_granted)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=1h");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);

    for (int i = 0; i < 20; i++) {
        bowline_operation *op    = must_start(client, engine_lock(), BOWLINE_NO_WAIT);
        bowline_hold      *hold  = NULL;
        bowline_error      error = { 0 };
        if (i % 4 == 1)
            (void)bowline_operation_wait(op, 0, NULL);
        if (i % 4 == 2)
            (void)bowline_operation_wait(op, BOWLINE_FOREVER, NULL);
        bowline_cancel(op);
        int status = bowline_acquire_finish(&hold, op, &error);
        if (status == BOWLINE_OK)
            must_release(hold);
        else
            assert_status(BOWLINE_CANCELLED, status, &error);
        if (i % 4 == 2)
            assert_status(BOWLINE_OK, status, &error);
        must_release(must_acquire_within(other, engine_lock(), 10000));
    }
}

static void *finish_acquire(void *arg)
{
    waiter       *w    = arg;
    bowline_hold *hold = NULL;

    w->status = bowline_acquire_finish(&hold, (bowline_operation *)(void *)w->hold, &w->error);
    atomic_store(&w->ended, true);
    return NULL;
}

ENGINE_TEST(cancel_from_another_thread)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_FOREVER);
    waiter             w      = { .hold = (bowline_hold *)(void *)op };

    assert_int_equal(pthread_create(&w.thread, NULL, finish_acquire, &w), 0);
    assert_true(threads_wait(client, 1));
    assert_false(atomic_load(&w.ended));
    bowline_cancel(op);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_CANCELLED, waiter_join(&w), &w.error);
    must_release(hold);
}

/* The same while another thread runs the loop. */
ENGINE_TEST(cancel_of_a_sleeping_thread)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *op;
    waiter             driver;
    waiter             waiting;

    waiter_start(&driver, client, engine_lock(), BOWLINE_FOREVER);
    assert_true(threads_wait(client, 1));
    op      = must_start(client, engine_lock(), BOWLINE_FOREVER);
    waiting = (waiter){ .hold = (bowline_hold *)(void *)op };
    assert_int_equal(pthread_create(&waiting.thread, NULL, finish_acquire, &waiting), 0);
    assert_true(threads_wait(client, 2));
    bowline_cancel(op);
    assert_true(waiter_ends(&waiting));
    assert_status(BOWLINE_CANCELLED, waiter_join(&waiting), &waiting.error);
    assert_false(atomic_load(&driver.ended));
    must_release(hold);
    waiter_must_release(&driver);
}

/* ---- extend and release ---------------------------------------------------------------------- */

ENGINE_TEST(extend_in_steps)
{
    bowline_client    *client = engine_client(THE_ENGINE, "lease=20s");
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *op     = NULL;
    bowline_error      error  = { 0 };

    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 60000, &error), &error);
    assert_status(BOWLINE_OK, bowline_finish(op, &error), &error);
    assert_true(bowline_hold_left_ms(hold) > 20000);
    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 0, &error), &error);
    bowline_cancel(op);
    bowline_cancel(op);
    int status = bowline_finish(op, &error);
    assert_true(status == BOWLINE_OK || status == BOWLINE_CANCELLED);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
    must_release(hold);
}

/* One extend at a time; an engine without a lease has ended the first already. */
ENGINE_TEST(second_extend_returns_usage)
{
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *first  = NULL;
    bowline_operation *second = NULL;
    bowline_error      error  = { 0 };

    assert_status(BOWLINE_OK, bowline_extend_start(&first, hold, 0, &error), &error);
    if (THE_ENGINE->has_lease) {
        assert_status(BOWLINE_USAGE, bowline_extend_start(&second, hold, 0, &error), &error);
        assert_status(BOWLINE_USAGE, bowline_extend(hold, 0, &error), &error);
        assert_null(second);
    }
    assert_status(BOWLINE_OK, bowline_finish(first, &error), &error);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
    must_release(hold);
}

/* The extend is finished after the release has freed the hold. */
ENGINE_TEST(release_ends_an_extend)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *extend = NULL;
    bowline_error      error  = { 0 };

    assert_status(BOWLINE_OK, bowline_extend_start(&extend, hold, 0, &error), &error);
    must_release(hold);
    assert_int_equal(bowline_operation_done(extend), 1);
    int status = bowline_finish(extend, &error);
    assert_true(status == BOWLINE_OK || status == BOWLINE_CANCELLED);
    assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
}

ENGINE_TEST(release_in_steps)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *op     = NULL;
    bowline_error      error  = { 0 };

    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, &error), &error);
    bowline_cancel(op); /* a release cannot be cancelled */
    assert_status(BOWLINE_OK, bowline_operation_wait(op, 10000, &error), &error);
    assert_status(BOWLINE_OK, bowline_finish(op, &error), &error);
    assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
}

ENGINE_TEST(wrong_finish_changes_nothing)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_NO_WAIT);
    bowline_hold      *hold   = NULL;
    bowline_hold      *none   = NULL;
    bowline_error      error  = { 0 };

    assert_status(BOWLINE_USAGE, bowline_finish(op, &error), &error);
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, &error), &error);
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, &error), &error);
    assert_status(BOWLINE_USAGE, bowline_acquire_finish(&none, op, &error), &error);
    assert_status(BOWLINE_OK, bowline_finish(op, &error), &error);
    assert_null(none);
}

ENGINE_TEST(close_frees_unfinished_operations)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, "one");
    bowline_hold      *other  = must_acquire(client, "two");
    bowline_operation *op;

    (void)must_start(client, "one", BOWLINE_FOREVER);
    bowline_cancel(must_start(client, "one", BOWLINE_FOREVER));
    (void)bowline_operation_wait(must_start(client, "three", BOWLINE_NO_WAIT), 1000, NULL);
    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 0, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release_start(&op, other, NULL), NULL);
}

/* ---- on another event loop ------------------------------------------------------------------- */

/* As documented in async.h: the event loop polls only the descriptor, for timers too. */
static void poll_until_done(bowline_client *client, bowline_operation *op)
{
    struct pollfd polled = { .fd = bowline_fd(client), .events = POLLIN };

    assert_true(polled.fd >= 0);
    while (!bowline_operation_done(op)) {
        assert_int_equal(poll(&polled, 1, 60000), 1); /* the time limit of a failing test */
        assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
    }
}

ENGINE_TEST(timer_makes_the_descriptor_readable)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *held   = must_acquire(other, engine_lock());
    bowline_operation *op     = must_start(client, engine_lock(), 30);
    bowline_operation *longer = must_start(client, engine_lock(), 60);

    poll_until_done(client, op);
    must_fail(op, BOWLINE_TIMEOUT);
    poll_until_done(client, longer);
    must_fail(longer, BOWLINE_TIMEOUT);
    must_release(held);
}

ENGINE_TEST(operations_complete_with_poll_and_dispatch)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *held   = must_acquire(other, engine_lock());
    bowline_hold      *hold   = NULL;
    bowline_operation *op     = must_start(client, engine_lock(), 20000);
    releaser           thread = { .engine = THE_ENGINE, .hold = held, .waiting = client };

    releaser_start(&thread);
    poll_until_done(client, op);
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, NULL), NULL);
    assert_int_equal(pthread_join(thread.thread, NULL), 0);
    assert_status(BOWLINE_OK, bowline_extend_start(&op, hold, 0, NULL), NULL);
    poll_until_done(client, op);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, NULL), NULL);
    poll_until_done(client, op);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
}

static void *dispatch_until_told(void *arg)
{
    waiter *driver = arg;

    while (!atomic_load(&driver->ended))
        (void)bowline_dispatch(driver->client, 100, NULL);
    return NULL;
}

/* A thread that dispatches leaves; the sleeping thread must take over the loop. */
ENGINE_TEST(sleeping_thread_takes_over_the_loop)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(other, engine_lock());
    waiter          w;

    for (int i = 0; i < 3; i++) {
        waiter driver = { .client = client };
        assert_int_equal(pthread_create(&driver.thread, NULL, dispatch_until_told, &driver), 0);
        assert_true(threads_wait(client, 1));
        waiter_start(&w, client, engine_lock(), BOWLINE_FOREVER);
        atomic_store(&driver.ended, true);
        assert_int_equal(pthread_join(driver.thread, NULL), 0);
        assert_true(threads_wait(client, 1));
        must_release(hold);
        waiter_must_release(&w);
        hold = must_acquire(other, engine_lock());
    }
    must_release(hold);
}
