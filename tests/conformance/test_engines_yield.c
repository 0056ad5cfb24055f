/*
 * test_engines_yield.c -- a holder that yields to a waiter and waits again, on every engine.
 */
#include "tests/lib/engines.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WAIT_MS = 20000 };

ENGINE_TEST(yield_without_a_waiter_is_held_again)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    uint64_t        fence  = bowline_hold_fence(hold);

    for (int i = 0; i < 3; i++) {
        assert_status(BOWLINE_OK, bowline_yield(hold, WAIT_MS, NULL), NULL);
        assert_true(bowline_hold_fence(hold) > fence || !THE_ENGINE->has_fence);
        assert_true(bowline_hold_left_ms(hold) > 0);
        assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
        fence = bowline_hold_fence(hold);
    }
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    must_release(hold);
    assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
}

typedef struct fence_reader {
    const bowline_hold *hold;
    atomic_bool         has_begun;
    atomic_bool         stops;
    bool                has_fallen;
} fence_reader;

static void *read_fences(void *arg)
{
    fence_reader *reader = arg;
    uint64_t      latest = bowline_hold_fence(reader->hold);

    atomic_store(&reader->has_begun, true);
    while (!atomic_load(&reader->stops)) {
        uint64_t fence     = bowline_hold_fence(reader->hold);
        reader->has_fallen = reader->has_fallen || fence < latest;
        latest             = fence;
        (void)sched_yield();
    }
    return NULL;
}

/* ThreadSanitizer reports a read without the mutex. */
ENGINE_TEST(yield_changes_the_fence_while_another_thread_reads_it)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    fence_reader    reader = { .hold = hold };
    pthread_t       thread;

    assert_int_equal(pthread_create(&thread, NULL, read_fences, &reader), 0);
    while (!atomic_load(&reader.has_begun))
        (void)sched_yield();
    for (int i = 0; i < 3; i++)
        assert_status(BOWLINE_OK, bowline_yield(hold, WAIT_MS, NULL), NULL);
    atomic_store(&reader.stops, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(reader.has_fallen);
    must_release(hold);
}

QUEUE_TEST(yield_passes_the_lock_to_a_waiter_and_back)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *op     = NULL;
    bowline_event      event  = { .size = sizeof event };
    waiter             w;

    waiter_start(&w, other, engine_lock(), WAIT_MS);
    engine_await_queue(THE_ENGINE, &w, 1);
    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
    assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(op, 20, NULL), NULL);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    must_release(w.hold);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_true(bowline_hold_left_ms(hold) > 0);
    assert_int_equal(bowline_next_event(client, &event, NULL), 0); /* no LOST */
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    must_release(hold);
}

QUEUE_TEST(yield_that_times_out_ends_the_hold)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    waiter          w;

    waiter_start(&w, other, engine_lock(), WAIT_MS);
    engine_await_queue(THE_ENGINE, &w, 1);
    assert_status(BOWLINE_TIMEOUT, bowline_yield(hold, 50, NULL), NULL);
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_status(BOWLINE_BUSY, try_once(client, engine_lock()), NULL); /* still its own hold */
    must_release(w.hold);
    assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
}

ENGINE_TEST(cancelled_yield_blocks_no_waiter)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_operation *op     = NULL;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, WAIT_MS, NULL), NULL);
    bowline_cancel(op);
    int status = bowline_finish(op, NULL);
    assert_true(status == BOWLINE_CANCELLED || status == BOWLINE_OK); /* it may have been quick */
    assert_status(status == BOWLINE_OK ? BOWLINE_OK : BOWLINE_LOST, bowline_release(hold, NULL),
                  NULL);
    must_release(must_acquire_within(other, engine_lock(), WAIT_MS));
}
