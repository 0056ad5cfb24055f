/*
 * test_keeper.c -- a thread that renews while the program is busy with what it locked for.
 *
 * The server that is played (redis_fixture.h) waits for the renewals that nobody in the test
 * drives.  The lease is of an hour, as is the time for an answer, so that however late this machine
 * is, nothing is lost by it; a renewal is due when the test says so.  The rest is about coming and
 * going: one keeper, which stops at once whatever it is doing, and leaves signals to the program.
 */
#include "redis_fixture.h"

#include "runtime/renewal_thread.h"

#include <poll.h>
#include <signal.h>

static bwl_operation operation;

static int play_with_long_leases(void **state)
{
    (void)play(state);
    close_client();
    open_client("lease=1h&timeout=1h");
    return 0;
}

/* Waits for what the server is sent while the test does not drive. */
static void let_the_keeper_work(void)
{
    bwl_client_unlock(client);
    int count = poll(&(struct pollfd){ .fd = server, .events = POLLIN }, 1, 5000);
    bwl_client_lock(client);
    assert_int_equal(count, 1);
}

static void unlocked_nap(bwl_ms ms)
{
    bwl_client_unlock(client);
    pass(ms);
    bwl_client_lock(client);
}

/* Until no answer is waited for any more. */
static void await_answers(void)
{
    while (client->pending > 0)
        unlocked_nap(1);
}

static void await_driver(void)
{
    while (!client->driving)
        unlocked_nap(1);
}

/* In a moment, and not in many minutes. */
static void renewal_is_due(bwl_lock *lock)
{
    lock->hold.look_at = bwl_client_now(client) + 20;
    bwl_client_alarm(client, &lock->timer, lock->hold.look_at);
    bwl_keeper_nudge(client);
}

static void start_keeper(void)
{
    assert_int_equal(bwl_keeper_start(client, &fault), BWL_OK);
    assert_non_null(client->keeper);
}

static void test_keeper_renews_again_and_again_while_nobody_drives(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    start_keeper();
    for (unsigned i = 0; i < 5; i++) {
        bwl_ms until = lock->hold.until;
        renewal_is_due(lock);
        let_the_keeper_work();
        expect("EVALSHA @extend_if_mine 1 bowline:{n} %s 3600000", lock->hold.claim.token);
        says(":1\r\n");
        await_answers(); /* which it reads as well */
        assert_true(bwl_hold_is_held(&lock->hold));
        assert_true(lock->hold.until > until);
    }
}

static void test_keeper_reads_the_answers_that_nobody_waits_for(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    start_keeper();
    bwl_lock_extend(lock, &operation, 60000);
    says(":1\r\n");
    bwl_keeper_nudge(client);
    await_answers();
    assert_int_equal(operation.ended, BWL_HELD);
}

static void test_keeper_notices_the_loss_in_time(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    start_keeper();
    renewal_is_due(lock);
    let_the_keeper_work();
    says(":0\r\n");
    await_answers();
    assert_int_equal(lock->hold.state, BWL_HOLD_OVER);
}

static void test_keeper_is_one(void **state)
{
    (void)state;
    bwl_keeper_nudge(client); /* there is none: nothing */
    start_keeper();
    struct bwl_keeper *keeper = client->keeper;
    start_keeper();
    assert_ptr_equal(client->keeper, keeper);
}

static void test_keeper_sleeps_while_there_is_nothing_to_keep(void **state)
{
    (void)state;
    start_keeper();
    unlocked_nap(20);
    assert_false(client->driving);
    assert_int_equal(client->reactor.epoll_fd, -1);
}

static void test_keeper_stops_at_once_from_its_sleep(void **state)
{
    (void)state;
    start_keeper();
    unlocked_nap(10);
    bwl_client_unlock(client);
    bwl_keeper_stop(client);
    bwl_keeper_stop(client);
    bwl_client_lock(client);
    assert_null(client->keeper);
}

static void test_keeper_stops_at_once_while_it_drives(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    start_keeper();
    bwl_lock_extend(lock, &operation, 60000); /* which the server never answers */
    bwl_keeper_nudge(client);
    await_driver();
    bwl_client_unlock(client);
    bwl_keeper_stop(client); /* else it would drive for minutes */
    bwl_client_lock(client);
    assert_false(client->driving);
}

/* A caller that comes while the keeper drives sleeps, and is dispatched for by it. */
static void test_keeper_that_drives_dispatches_for_the_caller(void **state)
{
    bwl_lock *lock = held_lock("n", &operation);

    (void)state;
    start_keeper();
    bwl_lock_extend(lock, &operation, 60000);
    bwl_keeper_nudge(client);
    await_driver();
    says(":1\r\n");
    assert_int_equal(bwl_client_wait(client, &operation, BWL_NEVER, &fault), BWL_OK);
    assert_int_equal(operation.ended, BWL_HELD);
}

static void test_keeper_leaves_signals_to_the_program(void **state)
{
    sigset_t one;
    sigset_t before;
    sigset_t pending;

    (void)state;
    assert_int_equal(sigemptyset(&one), 0);
    assert_int_equal(sigaddset(&one, SIGUSR1), 0);
    start_keeper();
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    assert_false(sigismember(&before, SIGUSR1));  /* ours is as it was before the keeper started */
    assert_int_equal(kill(getpid(), SIGUSR1), 0); /* would end the program if the keeper took it */
    unlocked_nap(20);
    assert_int_equal(sigpending(&pending), 0);
    assert_true(sigismember(&pending, SIGUSR1));
    assert_int_equal(sigtimedwait(&one, NULL, &(struct timespec){ 0 }), SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play_with_long_leases, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_keeper_renews_again_and_again_while_nobody_drives),
        CASE(test_keeper_reads_the_answers_that_nobody_waits_for),
        CASE(test_keeper_notices_the_loss_in_time),
        CASE(test_keeper_is_one),
        CASE(test_keeper_sleeps_while_there_is_nothing_to_keep),
        CASE(test_keeper_stops_at_once_from_its_sleep),
        CASE(test_keeper_stops_at_once_while_it_drives),
        CASE(test_keeper_that_drives_dispatches_for_the_caller),
        CASE(test_keeper_leaves_signals_to_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
