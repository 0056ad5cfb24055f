/*
 * test_yield.c -- a yield that meets a release, an event, a second operation or the end of its
 * client.  On thread:; the rest is in conformance/engines_yield, for every engine.
 */
#include "api/handles.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static void test_yield_waits_as_the_url_says(void **state)
{
    bowline_hold      *hold = take(two);
    bowline_operation *his  = wait_for_it(one);
    bowline_hold      *his_hold;

    (void)state;
    assert_int_equal(bowline_yield(hold, BOWLINE_DEFAULT, &error), BOWLINE_TIMEOUT); /* wait=20ms */
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_int_equal(bowline_acquire_finish(&his_hold, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(his_hold, &error), BOWLINE_OK);
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
    int                fd = bowline_hold_lost_fd(hold, &error);

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

static void test_yield_under_way_allows_no_second_operation(void **state)
{
    bowline_hold      *hold = take(one);
    bowline_operation *op   = NULL;
    bowline_hold      *none = NULL;

    (void)state;
    bowline_operation *his = wait_for_it(two);
    assert_int_equal(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_usage(bowline_yield(hold, BOWLINE_DEFAULT, &error), "already");
    assert_usage(bowline_extend(hold, 0, &error), "already");
    assert_usage(bowline_acquire_finish(&none, op, &error), "takes an acquire");
    assert_int_equal(bowline_acquire_finish(&none, his, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(none, &error), BOWLINE_OK);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
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
        T(test_yield_waits_as_the_url_says),
        T(test_yield_released_meanwhile_ends),
        T(test_yield_is_no_loss_until_it_has_failed),
        T(test_yield_under_way_allows_no_second_operation),
        T(test_yield_is_under_way_while_its_client_closes),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
