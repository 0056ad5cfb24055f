/*
 * test_verbs.c -- operations that end in any order or not at all, and calls without a descriptor to
 * wait with.  The rest of what the calls do is in conformance, for every engine.
 */
#include <bowline/async.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static bowline_client *client;
static bowline_hold   *hold;
static bowline_error   error;

static int begin(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    bowline_close(client);
    return 0;
}

static bowline_operation *start(const char *name)
{
    bowline_operation *op;

    assert_int_equal(bowline_acquire_start(&op, client, name,
                                           BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
                     BOWLINE_OK);
    return op;
}

/* The first, the second or the third of three is finished; close frees the others, which the
 * sanitizer checks. */
static void test_verbs_operation_is_finished_while_others_are_not(void **state)
{
    bowline_hold *none = NULL;

    (void)state;
    for (unsigned gone = 0; gone < 3; gone++) {
        bowline_operation *ops[3] = { start("n"), start("n"), start("n") };
        bowline_cancel(ops[gone]);
        assert_int_equal(bowline_acquire_finish(&none, ops[gone], &error), BOWLINE_CANCELLED);
        assert_string_equal(error.text, "n: cancelled");
    }
}

static void test_verbs_operations_are_finished_in_any_order(void **state)
{
    static const unsigned orders[][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 } };
    bowline_hold         *holds[3];

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        bowline_operation *ops[3] = { start("a"), start("b"), start("c") };
        for (unsigned k = 0; k < 3; k++) {
            unsigned n = orders[i][k];
            bowline_cancel(ops[n]); /* too late: it was acquired */
            assert_int_equal(bowline_acquire_finish(&holds[n], ops[n], &error), BOWLINE_OK);
        }
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(bowline_release(holds[k], &error), BOWLINE_OK);
    }
}

static void test_verbs_without_descriptors_there_is_no_waiting_but_taking(void **state)
{
    bowline_hold *free_one = NULL, *none = NULL;
    struct rlimit before, low;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low          = before;
    low.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int taken    = bowline_acquire(&free_one, client, "m", NULL, NULL);
    int waited   = bowline_acquire(&none, client, "n", BOWLINE_ACQUIRE(.wait_ms = 1000), &error);
    int fd       = bowline_fd(client);
    int dispatch = bowline_dispatch(client, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(taken, BOWLINE_OK);
    assert_int_equal(waited, BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "n: cannot wait for events"));
    assert_true(error.system_errno != 0);
    assert_null(none);
    assert_int_equal(fd, BOWLINE_SYSTEM);
    assert_int_equal(dispatch, BOWLINE_SYSTEM);
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK); /* as soon as there are */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_verbs_operation_is_finished_while_others_are_not),
        CASE(test_verbs_operations_are_finished_in_any_order),
        CASE(test_verbs_without_descriptors_there_is_no_waiting_but_taking),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
