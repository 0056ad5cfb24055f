/*
 * test_break.c -- ending somebody else's hold: the one that was shown, and no other.
 *
 * The engine is one whose `who` says what the test wants, and which counts what it is asked to
 * break.
 */
#include "api/handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bowline_client *client;
static bwl_engine      engine;
static bwl_holder      says;
static int             status_of_who;
static int             status_of_break;
static unsigned        broken;
static bowline_error   error;

static int fake_who(bwl_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    (void)lock;
    if (status_of_who < 0) {
        *fault = (bwl_fault){ .status = status_of_who, .text = "no" };
        return status_of_who;
    }
    *ret_holder = says;
    return BWL_OK;
}

static bool fake_break(bwl_lock *lock)
{
    assert_string_equal(lock->base.name, "n");
    broken++;
    return true;
}

static int fake_broken(bwl_lock *lock, bwl_fault *fault)
{
    (void)lock;
    if (status_of_break < 0)
        *fault = (bwl_fault){ .status = status_of_break, .text = "no luck" };
    return status_of_break;
}

static int open_client(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    engine                     = *client->first->host.engine;
    engine.who                 = fake_who;
    engine.break_seen          = fake_break;
    engine.broken              = fake_broken;
    client->first->host.engine = &engine;
    says                       = (bwl_holder){ .held = true, .id = 7 };
    status_of_who              = BWL_OK;
    status_of_break            = BWL_OK;
    broken                     = 0;
    error                      = (bowline_error){ 0 };
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    assert_int_equal(client->first->locks_count, 0);
    bowline_close(client);
    return 0;
}

static void test_break_ends_the_hold_that_was_shown(void **state)
{
    (void)state;
    assert_int_equal(bowline_break(client, "n", 7, &error), BOWLINE_OK);
    assert_int_equal(broken, 1);
}

static void test_break_of_a_hold_that_has_ended_touches_nothing(void **state)
{
    (void)state;
    assert_int_equal(bowline_break(client, "n", 8, &error), BOWLINE_BUSY);
    assert_non_null(strstr(error.text, "somebody else has the lock"));
    says.id = 0; /* a stranger's */
    assert_int_equal(bowline_break(client, "n", 7, &error), BOWLINE_BUSY);
    says = (bwl_holder){ .held = false, .id = 7 };
    assert_int_equal(bowline_break(client, "n", 7, &error), BOWLINE_BUSY);
    assert_non_null(strstr(error.text, "nobody has the lock"));
    assert_int_equal(broken, 0);
}

static void test_break_that_fails_says_how(void **state)
{
    (void)state;
    status_of_break = BWL_STATUS_UNKNOWN;
    assert_int_equal(bowline_break(client, "n", 7, &error), BOWLINE_UNKNOWN);
    assert_string_equal(error.text, "no luck");
    status_of_who = BWL_STATUS_UNREACHABLE;
    assert_int_equal(bowline_break(client, "n", 7, &error), BOWLINE_UNREACHABLE);
    assert_string_equal(error.text, "no");
    assert_int_equal(broken, 1);
}

static void test_break_checks_its_arguments(void **state)
{
    (void)state;
    assert_int_equal(bowline_break(NULL, "n", 7, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_break(client, NULL, 7, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_break(client, "n", 0, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_break(client, "", 7, NULL), BOWLINE_USAGE);
    assert_int_equal(broken, 0);
}

static void test_break_where_locks_end_with_their_process_is_unsupported(void **state)
{
    (void)state;
    engine.break_seen = NULL;
    assert_int_equal(bowline_break(client, "n", 7, &error), BOWLINE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "thread: ends with its process"));
}

static void test_break_in_a_child_of_fork_is_forked(void **state)
{
    int status;

    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(bowline_break(client, "n", 7, &error) == BOWLINE_FORKED ? 7 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_break_ends_the_hold_that_was_shown, open_client,
                                        close_client),
        cmocka_unit_test_setup_teardown(test_break_of_a_hold_that_has_ended_touches_nothing,
                                        open_client, close_client),
        cmocka_unit_test_setup_teardown(test_break_that_fails_says_how, open_client, close_client),
        cmocka_unit_test_setup_teardown(test_break_checks_its_arguments, open_client, close_client),
        cmocka_unit_test_setup_teardown(
            test_break_where_locks_end_with_their_process_is_unsupported, open_client,
            close_client),
        cmocka_unit_test_setup_teardown(test_break_in_a_child_of_fork_is_forked, open_client,
                                        close_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
