/*
 * test_events.c -- taking what has happened, and the caller's own pointers.
 *
 * On thread:, where an operation ends in its start or in a cancel, so that the order of all that
 * happens is the test's.
 */
#include "api/handles.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bowline_client *client;
static bowline_error   error;

static int open_client(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client,
                                  BOWLINE_OPTIONS(.url = "thread:", .flags = BOWLINE_NO_THREAD),
                                  &error),
                     BOWLINE_OK);
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bowline_close(client);
    return 0;
}

static bowline_operation *start(const char *name)
{
    bowline_operation *op = NULL;

    assert_int_equal(bowline_acquire_start(&op, client, name,
                                           BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
                     BOWLINE_OK);
    return op;
}

static bowline_event next(void)
{
    bowline_event event  = { .size = sizeof event, .reserved = 4711 };
    int           status = bowline_next_event(client, &event, &error);

    if (status == 0)
        return (bowline_event){ .kind = 0 };
    assert_int_equal(status, 1);
    assert_int_equal(event.size, sizeof event);
    assert_int_equal(event.reserved, 0);
    return event;
}

static bool is_readable(void)
{
    return poll(&(struct pollfd){ .fd = bowline_fd(client), .events = POLLIN }, 1, 0) == 1;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void test_events_come_in_the_order_in_which_things_happened(void **state)
{
    bowline_operation *waiting[3];
    bowline_operation *first = start("n");

    (void)state;
    for (int i = 0; i < 3; i++)
        waiting[i] = start("n");
    bowline_cancel(waiting[1]);
    bowline_cancel(waiting[0]);
    bowline_operation *last = start("m");
    assert_ptr_equal(next().operation, first);
    assert_ptr_equal(next().operation, waiting[1]);
    assert_ptr_equal(next().operation, waiting[0]);
    assert_ptr_equal(next().operation, last);
    assert_int_equal(next().kind, 0);
    bowline_cancel(waiting[2]);
    assert_ptr_equal(next().operation, waiting[2]);
}

static void test_events_nothing_is_written_where_there_is_none(void **state)
{
    bowline_event event = { .size = sizeof event, .kind = 7, .reserved = 8 };

    (void)state;
    assert_int_equal(bowline_next_event(client, &event, &error), 0);
    assert_true(event.kind == 7 && event.reserved == 8);
}

static void test_events_end_in_the_start_wakes_only_who_takes_events(void **state)
{
    bowline_operation *op = NULL;

    (void)state;
    assert_true(bowline_fd(client) >= 0);
    (void)start("n");
    assert_false(is_readable()); /* he looks after each start */
    assert_int_equal(next().kind, BOWLINE_EVENT_ENDED);
    op = start("m");
    assert_true(is_readable());
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    assert_ptr_equal(next().operation, op);
    assert_false(is_readable());
}

static void test_events_of_an_extension_that_its_release_has_ended(void **state)
{
    bowline_operation *op = start("n"), *extending = NULL;
    bowline_hold      *hold = NULL;

    (void)state;
    assert_int_equal(bowline_acquire_finish(&hold, op, &error), BOWLINE_OK);
    assert_int_equal(bowline_extend_start(&extending, hold, 0, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_ptr_equal(next().operation, extending);
    assert_int_equal(bowline_finish(extending, &error), BOWLINE_OK);
    assert_int_equal(next().kind, 0);
}

/* ---- the caller's pointers ------------------------------------------------------------------- */

static void test_events_pointers_go_from_acquire_to_hold_to_the_rest(void **state)
{
    int                one, two;
    bowline_operation *op   = start("n");
    bowline_hold      *hold = NULL;

    (void)state;
    assert_null(bowline_operation_data(op));
    bowline_operation_set_data(op, &one);
    assert_ptr_equal(bowline_operation_data(op), &one);
    assert_int_equal(bowline_acquire_finish(&hold, op, &error), BOWLINE_OK);
    assert_ptr_equal(bowline_hold_data(hold), &one);
    bowline_hold_set_data(hold, &two);
    assert_ptr_equal(bowline_hold_data(hold), &two);
    assert_int_equal(bowline_extend_start(&op, hold, 0, &error), BOWLINE_OK);
    assert_ptr_equal(bowline_operation_data(op), &two);
    assert_ptr_equal(next().data, &two);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_int_equal(bowline_release_start(&op, hold, &error), BOWLINE_OK);
    assert_ptr_equal(bowline_operation_data(op), &two);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_OK);
    assert_null(bowline_hold_data(hold));
    assert_int_equal(bowline_who_start(&op, client, "n", &error), BOWLINE_OK);
    assert_null(bowline_operation_data(op));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_events_come_in_the_order_in_which_things_happened),
        CASE(test_events_nothing_is_written_where_there_is_none),
        CASE(test_events_end_in_the_start_wakes_only_who_takes_events),
        CASE(test_events_of_an_extension_that_its_release_has_ended),
        CASE(test_events_pointers_go_from_acquire_to_hold_to_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
