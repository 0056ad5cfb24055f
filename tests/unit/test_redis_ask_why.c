/*
 * test_redis_ask_why.c -- the reason that goes with what a caller is told is the reason of that,
 * and of nothing that happened before or since.
 *
 * A server is played (redis_fixture.h).
 */
#include "redis_fixture.h"

#include "api/handles.h"

static bwl_operation operation;
static bowline_error error;

static int report(bwl_lock *lock)
{
    assert_ptr_equal(operation.lock, lock);
    return bwl_report(&operation, &error);
}

/* It came too late to be of use, and what happened while it was given back is another story. */
static void test_redis_ask_why_of_a_slow_server_is_not_that_of_the_release(void **state)
{
    (void)state;
    close_client();
    open_client("lease=200ms");
    client->settings.answer_ms = 10000; /* it is slow, and not silent */
    bwl_lock *lock             = lock_named("n");
    bwl_lock_acquire(lock, &operation, 0);
    greet();
    pass(250);
    says("+OK\r\n");
    turn();
    assert_int_equal(lock->hold.state, BWL_HOLD_DISCARDING);
    hang_up();
    turn();
    assert_int_equal(operation.ended, BWL_NOT_NOW);
    assert_int_equal(report(lock), BOWLINE_REFUSED);
    assert_string_equal(error.text, "n: the server answers too slowly for this lease");
}

/* Told, and not looked at yet: the release that follows fails in its own way. */
static void test_redis_ask_why_is_kept_until_the_caller_looks(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    bwl_lock_says(lock, "no reason is like this one");
    bwl_lock_disown(lock);
    bwl_lock_release(lock, &operation);
    assert_int_equal(operation.ended, BWL_LOST);
    assert_int_equal(lock->hold.state, BWL_HOLD_LEAVING);
    hang_up();
    turn();
    assert_int_equal(report(lock), BOWLINE_LOST);
    assert_string_equal(error.text, "n is not ours any more: no reason is like this one");
}

/* A renewal failed, and the next one finds out: the failure has nothing to do with that. */
static void test_redis_ask_why_of_an_earlier_failure_is_over_with_an_answer(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    bwl_lock_extend(lock, &operation, 40000);
    says("-LOADING not yet\r\n");
    turn();
    assert_int_equal(report(lock), BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "LOADING"));
    bwl_lock_extend(lock, &operation, 40000);
    says(":0\r\n");
    turn();
    assert_int_equal(report(lock), BOWLINE_LOST);
    assert_null(strstr(error.text, "LOADING"));
    assert_non_null(strstr(error.text, "the store lost it"));
}

/* By text: the first answer says nothing of the question. */
static void test_redis_ask_why_is_what_the_server_said_last(void **state)
{
    (void)state;
    bwl_lock *lock = held_lock("n", &operation);
    bwl_lock_extend(lock, &operation, 40000);
    says("-NOSCRIPT no\r\n");
    turn();
    says("-NOPERM not you\r\n");
    turn();
    assert_int_equal(report(lock), BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "NOPERM not you"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_ask_why_of_a_slow_server_is_not_that_of_the_release),
        CASE(test_redis_ask_why_is_kept_until_the_caller_looks),
        CASE(test_redis_ask_why_of_an_earlier_failure_is_over_with_an_answer),
        CASE(test_redis_ask_why_is_what_the_server_said_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
