/*
 * test_redis_await.c -- waiting for an answer in the connection itself: when it is done, what it
 * leaves to the reactor, and what happens when the connection is closed under it.
 */
#include "base/fault.h"
#include "redis_fixture.h"

#include <fcntl.h>
#include <pthread.h>

/* The fixture has the mutex, as a caller would. */
static bool await(bwl_ms within)
{
    return bwl_redis_await(client, bwl_later(bwl_client_now(client), within));
}

static bool await_long(void)
{
    return await(5000);
}

static void test_redis_await_takes_the_answer(void **state)
{
    static bwl_operation first;
    static bwl_operation second;
    bwl_lock            *held = held_lock("n", &first);

    (void)state;
    bwl_lock_release(held, &first);
    bwl_lock_acquire(lock_named("o"), &second, 0);
    says(":1\r\n+O");
    assert_true(await_long());
    assert_int_equal(first.ended, BWL_RELEASED);
    assert_int_equal(second.ended, BWL_PENDING);
    says("K\r\n");
    assert_true(await_long());
    assert_int_equal(second.ended, BWL_HELD);
}

static void test_redis_await_is_not_for_the_first_answer(void **state)
{
    static bwl_operation operation;

    (void)state;
    bwl_lock_acquire(lock_named("n"), &operation, 0);
    greet();
    says("+OK\r\n");
    assert_false(await_long());
    assert_false(store->conn.stream.blocks);
    assert_int_equal(operation.ended, BWL_PENDING);
    turn();
    assert_int_equal(operation.ended, BWL_HELD);
}

static void test_redis_await_needs_a_question(void **state)
{
    static bwl_operation operation;

    (void)state;
    (void)held_lock("n", &operation);
    assert_false(await_long());
}

static void test_redis_await_stays_for_a_moment_only(void **state)
{
    static bwl_operation operation;
    bwl_lock            *held = held_lock("n", &operation);

    (void)state;
    bwl_lock_release(held, &operation);
    assert_false(await_long());
    assert_int_equal(operation.ended, BWL_PENDING);
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_int_equal(store->conn.stream.awaited_fd, -1);
    says(":1\r\n");
    turn();
    assert_int_equal(operation.ended, BWL_RELEASED);
}

static void test_redis_await_leaves_time_for_what_is_due(void **state)
{
    static bwl_operation operation;
    static bwl_timer     timer = { .at = BWL_NEVER };
    bwl_lock            *held  = held_lock("n", &operation);

    (void)state;
    bwl_lock_release(held, &operation);
    says(":1\r\n");
    assert_false(await(BWL_STREAM_AWAIT_MS - 1));
    assert_true(bwl_timers_reserve(&client->timers, 8));
    bwl_timers_set(&client->timers, &timer, bwl_client_now(client) + 1);
    assert_false(await_long());
    assert_int_equal(operation.ended, BWL_PENDING);
    bwl_timers_set(&client->timers, &timer, BWL_NEVER);
    assert_true(await_long());
    assert_int_equal(operation.ended, BWL_RELEASED);
}

static void test_redis_await_hears_that_the_server_has_gone(void **state)
{
    static bwl_operation operation;
    bwl_lock            *held = held_lock("n", &operation);

    (void)state;
    bwl_lock_release(held, &operation);
    told_count = 0;
    (void)shutdown(server, SHUT_RDWR);
    assert_true(await_long());
    assert_int_equal(told_count, 1);
    assert_int_equal(told[0].kind, BWL_DOWN);
}

static unsigned sleeps;
static unsigned looks;
static bool     had_mutex;

static int64_t same_time(void)
{
    return 0;
}

static ssize_t look(int fd, void *ret_bytes, size_t room)
{
    looks++;
    /* Others may do what they like meanwhile. */
    had_mutex = had_mutex || pthread_mutex_trylock(&client->mutex) != 0;
    if (!had_mutex)
        (void)pthread_mutex_unlock(&client->mutex);
    return bwl_spin_real.look(fd, ret_bytes, room);
}

static ssize_t sleep_there(int fd, void *ret_bytes, size_t room)
{
    sleeps++;
    return bwl_spin_real.sleep(fd, ret_bytes, room);
}

static void offer(void)
{
    says(":1\r\n");
}

static unsigned many(void)
{
    return 64;
}

/* No time passes, so an answer that takes 20 us comes soon enough, whenever it comes. */
static const bwl_spin_system timeless = {
    .now_ns = same_time, .look = look, .sleep = sleep_there, .offer = offer, .cpus = many
};

static void let_it_spin(void)
{
    store->spin = (bwl_spin){ .system = &timeless, .smoothed_ns = 20000 };
    sleeps      = 0;
    looks       = 0;
    had_mutex   = false;
}

static void test_redis_await_looks_before_it_sleeps(void **state)
{
    static bwl_operation operation;
    bwl_lock            *held = held_lock("n", &operation);

    (void)state;
    let_it_spin();
    bwl_lock_release(held, &operation);
    assert_true(await_long());
    assert_int_equal(operation.ended, BWL_RELEASED);
    assert_int_equal(looks, 2);
    assert_int_equal(sleeps, 0);
    assert_false(had_mutex);
    assert_int_equal(store->spin.paid, 1);
}

static void test_redis_await_does_not_spin_when_something_is_due(void **state)
{
    static bwl_operation operation;
    bwl_lock            *held = held_lock("n", &operation);

    (void)state;
    let_it_spin();
    bwl_lock_release(held, &operation);
    assert_false(await(BWL_STREAM_AWAIT_MS - 1));
    assert_int_equal(looks + sleeps, 0);
}

static void test_redis_await_sleeps_where_spinning_is_off(void **state)
{
    static bwl_operation operation;
    bwl_lock            *held = held_lock("n", &operation);

    (void)state;
    let_it_spin();
    store->spin.is_off = true;
    bwl_lock_release(held, &operation);
    says(":1\r\n");
    assert_true(await_long());
    assert_int_equal(looks, 0);
    assert_int_equal(sleeps, 1);
}

typedef struct breaker {
    atomic_bool is_done;
    int         awaited;
    int         other; /* the next number that was free                                        */
} breaker;

static void *break_it_off(void *arg)
{
    breaker *b = arg;

    bwl_client_lock(client); /* which only a thread that waits lets go */
    b->awaited = store->conn.stream.awaited_fd;
    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "broken off");
    bwl_redis_break_off(store, &fault, false);
    b->other = dup(server);
    atomic_store(&b->is_done, true);
    bwl_client_unlock(client);
    return NULL;
}

static void test_redis_await_ends_when_another_thread_breaks_it_off(void **state)
{
    static bwl_operation operation;
    breaker              b = { .is_done = false };
    pthread_t            thread;
    bwl_lock            *held = held_lock("n", &operation);

    (void)state;
    bwl_lock_release(held, &operation);
    told_count = 0;
    assert_int_equal(pthread_create(&thread, NULL, break_it_off, &b), 0);
    while (!atomic_load(&b.is_done))
        (void)await_long(); /* again, if nothing came for a moment */
    assert_int_equal(told_count, 1);
    assert_int_equal(told[0].kind, BWL_DOWN);
    assert_int_equal(store->conn.stream.awaited_fd, -1);
    bwl_client_unlock(client);
    assert_int_equal(pthread_join(thread, NULL), 0);
    bwl_client_lock(client);
    /* The number was nobody else's while somebody might have been about to read there, and is free
     * now. */
    assert_true(b.awaited >= 0);
    assert_int_not_equal(b.other, b.awaited);
    assert_int_equal(fcntl(b.awaited, F_GETFD), -1);
    (void)close(b.other);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_await_takes_the_answer),
        CASE(test_redis_await_is_not_for_the_first_answer),
        CASE(test_redis_await_needs_a_question),
        CASE(test_redis_await_stays_for_a_moment_only),
        CASE(test_redis_await_leaves_time_for_what_is_due),
        CASE(test_redis_await_hears_that_the_server_has_gone),
        CASE(test_redis_await_looks_before_it_sleeps),
        CASE(test_redis_await_does_not_spin_when_something_is_due),
        CASE(test_redis_await_sleeps_where_spinning_is_off),
        CASE(test_redis_await_ends_when_another_thread_breaks_it_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
