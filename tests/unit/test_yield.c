/*
 * test_yield.c -- giving the lock to who waits, and having it again: what it returns, what it
 * checks, whose the hold is.
 *
 * On thread:, where everything can be had without a server.
 */
#include "api/handles.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bowline_client *one;
static bowline_client *two;
static bowline_error   error;

static int open_both(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&one, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    assert_int_equal(bowline_open(&two, BOWLINE_OPTIONS(.url = "thread:?wait=20ms"), &error),
                     BOWLINE_OK);
    error = (bowline_error){ 0 };
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    bowline_close(one);
    bowline_close(two);
    return 0;
}

static bowline_hold *take(bowline_client *client)
{
    bowline_hold *hold = NULL;

    assert_int_equal(bowline_acquire(&hold, client, "n", BOWLINE_ACQUIRE(.wait_ms = 5000), &error),
                     BOWLINE_OK);
    return hold;
}

static void assert_usage(int status, const char *word)
{
    assert_int_equal(status, BOWLINE_USAGE);
    assert_non_null(strstr(error.text, word));
    error = (bowline_error){ 0 };
}

/* Somebody who has come to wait. */
static bowline_operation *wait_for_it(bowline_client *client)
{
    bowline_operation *op = NULL;

    assert_int_equal(bowline_acquire_start(&op, client, "n",
                                           BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
                     BOWLINE_OK);
    assert_int_equal(bowline_operation_done(op), 0);
    return op;
}

static void test_yield_to_nobody_is_held_with_a_new_fence(void **state)
{
    bowline_hold *hold  = take(one);
    uint64_t      fence = bowline_hold_fence(hold);

    (void)state;
    assert_int_equal(bowline_yield(hold, 0, &error), BOWLINE_OK);
    assert_true(bowline_hold_fence(hold) > fence);
    assert_true(bowline_hold_left_ms(hold) > 0);
    assert_int_equal(bowline_hold_trouble(hold, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(one->first->locks_count, 0);
}

/* Whoever waited has it, and gives it back when he is done. */
static void test_yield_is_a_turn_of_who_waits(void **state)
{
    bowline_hold      *hold  = take(one);
    uint64_t           fence = bowline_hold_fence(hold);
    bowline_operation *his   = wait_for_it(two);
    bowline_operation *op    = NULL;
    bowline_hold      *his_hold;

    (void)state;
    assert_int_equal(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_true(bowline_hold_fence(his_hold) > fence);
    assert_int_equal(bowline_operation_done(op), 0);
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    fence = bowline_hold_fence(his_hold);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_true(bowline_hold_fence(hold) > fence);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

/* The hold is over and the caller's still: what he always does with it is right. */
static void test_yield_in_vain_is_the_end_of_the_hold(void **state)
{
    bowline_hold      *hold = take(two);
    bowline_operation *his  = wait_for_it(one);
    bowline_hold      *his_hold;

    (void)state;
    assert_int_equal(bowline_yield(hold, 10, &error), BOWLINE_TIMEOUT);
    assert_non_null(strstr(error.text, "held by others"));
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_int_equal(bowline_hold_trouble(hold, NULL), BOWLINE_LOST);
    assert_int_equal(bowline_yield(hold, 10, &error), BOWLINE_LOST);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
    assert_int_equal(two->first->locks_count, 0);
}

static void test_yield_waits_as_the_url_says(void **state)
{
    bowline_hold      *hold = take(two);
    bowline_operation *his  = wait_for_it(one);
    bowline_hold      *his_hold;

    (void)state;
    assert_int_equal(bowline_yield(hold, 0, &error), BOWLINE_TIMEOUT); /* wait=20ms */
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
}

static void test_yield_cancelled_is_the_end_of_the_hold(void **state)
{
    bowline_hold      *hold = take(one);
    bowline_operation *his  = wait_for_it(two);
    bowline_operation *op   = NULL;
    bowline_hold      *his_hold;

    (void)state;
    assert_int_equal(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), BOWLINE_OK);
    bowline_cancel(op);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_CANCELLED);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
    assert_int_equal(one->first->locks_count, 0);
}

/* Released while it waits to have it again: it does so no more. */
static void test_yield_released_meanwhile_ends(void **state)
{
    bowline_hold      *hold = take(one);
    bowline_operation *his  = wait_for_it(two);
    bowline_operation *op   = NULL;
    bowline_hold      *his_hold;

    (void)state;
    assert_int_equal(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_CANCELLED);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
    assert_int_equal(one->first->locks_count, 0);
}

static int is_readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 0);
}

/* What was yielded is not lost, until it is clear that it does not come back. */
static void test_yield_is_no_loss_until_it_has_failed(void **state)
{
    bowline_hold      *hold  = take(one);
    bowline_operation *his   = wait_for_it(two);
    bowline_operation *op    = NULL;
    bowline_event      event = { .size = sizeof event };
    bowline_hold      *his_hold;
    int                fd = bowline_hold_fd(hold, &error);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(is_readable(fd), 0);
    assert_int_equal(bowline_next_event(one, &event, &error), 0);
    bowline_cancel(op);
    assert_int_equal(is_readable(fd), 1);
    assert_int_equal(bowline_next_event(one, &event, &error), 1);
    assert_int_equal(event.kind, BOWLINE_EVENT_ENDED);
    assert_ptr_equal(event.operation, op);
    assert_int_equal(bowline_next_event(one, &event, &error), 1);
    assert_int_equal(event.kind, BOWLINE_EVENT_LOST);
    assert_ptr_equal(event.hold, hold);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_CANCELLED);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
}

static void test_yield_checks_what_it_is_given(void **state)
{
    bowline_hold      *hold = take(one);
    bowline_operation *op   = NULL;
    bowline_hold      *none = NULL;

    (void)state;
    assert_usage(bowline_yield(NULL, 0, &error), "needs a hold");
    assert_usage(bowline_yield(hold, BOWLINE_NO_WAIT, &error), "wait_ms");
    assert_usage(bowline_yield(hold, (int64_t)BOWLINE_WAIT_MAX_MS + 1, &error), "wait_ms");
    assert_usage(bowline_yield_start(NULL, hold, 0, &error), "place");
    assert_usage(bowline_yield_start(&op, NULL, 0, &error), "place");
    assert_null(op);
    assert_true(bowline_hold_left_ms(hold) > 0);

    bowline_operation *his = wait_for_it(two);
    assert_int_equal(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_usage(bowline_yield(hold, 0, &error), "already");
    assert_usage(bowline_extend(hold, 0, &error), "already");
    assert_usage(bowline_acquire_finish(&none, op, &error), "takes an acquire");
    assert_int_equal(bowline_acquire_finish(&none, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(none, &error), BOWLINE_OK);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

static void test_yield_after_fork_is_refused(void **state)
{
    bowline_hold *hold = take(one);
    int           how  = 0;

    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bowline_operation *op;
        _exit(bowline_yield(hold, 0, NULL) == BOWLINE_FORKED &&
                      bowline_yield_start(&op, hold, 0, NULL) == BOWLINE_FORKED
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

static void test_yield_is_under_way_while_its_client_closes(void **state)
{
    bowline_client    *gone = NULL;
    bowline_operation *op   = NULL;
    bowline_hold      *his_hold;

    (void)state;
    assert_int_equal(bowline_open(&gone, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    bowline_hold      *hold = take(gone);
    bowline_operation *his  = wait_for_it(two);
    assert_int_equal(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), BOWLINE_OK);
    bowline_close(gone);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(take(two), &error), BOWLINE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)
        T(test_yield_to_nobody_is_held_with_a_new_fence),
        T(test_yield_is_a_turn_of_who_waits),
        T(test_yield_in_vain_is_the_end_of_the_hold),
        T(test_yield_waits_as_the_url_says),
        T(test_yield_cancelled_is_the_end_of_the_hold),
        T(test_yield_released_meanwhile_ends),
        T(test_yield_is_no_loss_until_it_has_failed),
        T(test_yield_checks_what_it_is_given),
        T(test_yield_after_fork_is_refused),
        T(test_yield_is_under_way_while_its_client_closes),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
