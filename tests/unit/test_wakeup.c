/*
 * test_wakeup.c -- the descriptors of a client for an event loop of the caller.
 *
 * test_wakeup_fd.c checks what they signal.  This test checks how they are made, and what another
 * thread inside the client does to them.
 */
#include "api/handles.h"
#include "runtime/wakeup.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static bool is_readable(int fd, int wait_ms)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, wait_ms) == 1;
}

static void test_wakeup_descriptors_are_made_once(void **state)
{
    int fd      = bowline_fd(client);
    int pipe_fd = bowline_wakeup_fd(client, &error);

    (void)state;
    assert_true(fd >= 0 && pipe_fd >= 0 && fd != pipe_fd);
    assert_int_equal(bowline_fd(client), fd);
    assert_int_equal(bowline_wakeup_fd(client, &error), pipe_fd);
    assert_int_equal(bowline_wakeup_fd(NULL, &error), BOWLINE_USAGE);
}

static void test_wakeup_that_fails_leaves_nothing_and_may_be_tried_again(void **state)
{
    struct rlimit before, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none          = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = bowline_wakeup_fd(client, &error);
    int other  = bowline_fd(client);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, BOWLINE_SYSTEM);
    assert_int_equal(other, BOWLINE_SYSTEM);
    assert_null(client->wakeup);
    assert_null(client->first->loop.wakeup);
    assert_true(bowline_wakeup_fd(client, &error) >= 0);
}

/* It has the descriptors, and not the thread: closing must not wait for that. */
static void test_wakeup_in_a_child_of_fork_is_forked_and_close_returns(void **state)
{
    int status;

    (void)state;
    assert_true(bowline_wakeup_fd(client, &error) >= 0);
    pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        (void)alarm(20);
        wrong += bowline_fd(client) != BOWLINE_FORKED;
        wrong += bowline_wakeup_fd(client, &error) != BOWLINE_FORKED;
        bowline_close(client);
        _exit(wrong == 0 ? 7 : wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* An earlier timer replaces a later one, and a dispatch takes the one that was due. */
static void test_wakeup_descriptor_is_readable_when_the_next_timer_is_due(void **state)
{
    bowline_hold *hold, *shorter;
    int           fd = bowline_fd(client);

    (void)state;
    assert_int_equal(
        bowline_acquire(&hold, client, "n", BOWLINE_ACQUIRE(.max_hold_ms = 3600000), &error),
        BOWLINE_OK);
    assert_false(is_readable(fd, 0));
    assert_int_equal(
        bowline_acquire(&shorter, client, "m", BOWLINE_ACQUIRE(.max_hold_ms = 20), &error),
        BOWLINE_OK);
    while (bowline_hold_left_ms(shorter) > 0) {
        assert_true(is_readable(fd, 60000));
        assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    }
    assert_false(is_readable(fd, 0));
    assert_true(bowline_timeout_ms(client) > 60000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_wakeup_descriptors_are_made_once),
        CASE(test_wakeup_that_fails_leaves_nothing_and_may_be_tried_again),
        CASE(test_wakeup_in_a_child_of_fork_is_forked_and_close_returns),
        CASE(test_wakeup_descriptor_is_readable_when_the_next_timer_is_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
