/*
 * test_operation.c -- what was started and is not finished: the client's list of them, and what may
 * be asked of one meanwhile.
 */
#include "api/handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bowline_client *client;
static bowline_hold   *hold; /* of "n", so that nothing that is started ends */
static bowline_error   error;

static int begin(void **state)
{
    (void)state;
    error = (bowline_error){ 0 };
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error) != BOWLINE_OK)
        return -1;
    return bowline_acquire(&hold, client, "n", BOWLINE_ACQUIRE(.wait_ms = 0), &error);
}

static int end(void **state)
{
    (void)state;
    bowline_close(client);
    return 0;
}

static bowline_operation *start(void)
{
    bowline_operation *op = NULL;

    assert_int_equal(bowline_acquire_start(&op, client, "n",
                                           BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
                     BOWLINE_OK);
    return op;
}

static void drop(bowline_operation *op)
{
    bowline_hold *none = NULL;

    bowline_cancel(op);
    assert_int_equal(bowline_acquire_finish(&none, op, NULL), BOWLINE_CANCELLED);
}

/* The list is linked both ways, and holds these, the newest first. */
static void assert_listed(bowline_operation *first, bowline_operation *second)
{
    assert_ptr_equal(client->operations, first);
    assert_null(first->previous);
    assert_ptr_equal(first->next, second);
    if (second != NULL) {
        assert_ptr_equal(second->previous, first);
        assert_null(second->next);
    }
}

static void test_operation_list_loses_its_first_its_middle_and_its_last(void **state)
{
    (void)state;
    for (unsigned gone = 0; gone < 3; gone++) {
        bowline_operation *ops[3] = { start(), start(), start() };
        drop(ops[gone]);
        assert_listed(ops[gone == 2 ? 1 : 2], ops[gone == 0 ? 1 : 0]);
        for (unsigned i = 0; i < 3; i++)
            if (i != gone)
                drop(ops[i]);
        assert_null(client->operations);
    }
}

static void test_operation_wait_has_an_end(void **state)
{
    (void)state;
    bowline_operation *op = start();

    assert_int_equal(bowline_operation_wait(op, 0, &error), BOWLINE_TIMEOUT);
    assert_int_equal(bowline_operation_wait(op, 5, &error), BOWLINE_TIMEOUT);
    assert_non_null(strstr(error.text, "not ended yet"));
    assert_int_equal(bowline_operation_wait(op, BOWLINE_DEFAULT - 1, &error), BOWLINE_USAGE);
    drop(op);
}

static void test_operation_is_done_when_it_has_ended(void **state)
{
    bowline_hold *won = NULL;

    (void)state;
    bowline_operation *op = start();
    assert_int_equal(bowline_operation_done(op), 0);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(bowline_operation_wait(op, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(bowline_operation_done(op), 1);
    bowline_cancel(op); /* too late */
    assert_int_equal(bowline_acquire_finish(&won, op, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(won, &error), BOWLINE_OK);
}

static void test_operation_that_is_left_goes_with_the_client(void **state)
{
    (void)state;
    (void)start();
    (void)start();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_operation_list_loses_its_first_its_middle_and_its_last),
        CASE(test_operation_wait_has_an_end),
        CASE(test_operation_is_done_when_it_has_ended),
        CASE(test_operation_that_is_left_goes_with_the_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
