/*
 * test_loss.c -- the descriptor of a hold, and why it cannot be renewed.
 *
 * The store is thread:, where nothing goes wrong: what a store would have said is written into the
 * lock by the test.
 */
#include "api/handles.h"

#include <fcntl.h>
#include <poll.h>
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

static int take_a_name(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client,
                                  BOWLINE_OPTIONS(.url = "thread:", .flags = BOWLINE_NO_THREAD),
                                  &error),
                     BOWLINE_OK);
    assert_int_equal(
        bowline_acquire(&hold, client, "n", BOWLINE_ACQUIRE(.max_hold_ms = 60000), &error),
        BOWLINE_OK);
    error = (bowline_error){ 0 };
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bowline_close(client);
    return 0;
}

static void test_loss_trouble_is_a_status_with_its_reason(void **state)
{
    static const struct {
        bwl_outcome_kind kind;
        int              status;
        const char      *why;
        const char      *text;
    } list[] = {
        { BWL_UNREACHABLE, BOWLINE_UNREACHABLE, "h: refused", "cannot be renewed: h: refused" },
        { BWL_UNKNOWN, BOWLINE_UNKNOWN, "", "cannot be renewed: the server did not answer" },
        { BWL_NOT_NOW, BOWLINE_REFUSED, "h: OOM", "cannot be renewed: h: OOM" },
        { BWL_STORE_REFUSED, BOWLINE_REFUSED, "h: NOPERM", "cannot be renewed: h: NOPERM" },
    };

    (void)state;
    assert_int_equal(bowline_hold_check(hold, &error), BOWLINE_OK);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        bwl_lock_of(hold)->base.hold.last_error = list[i].kind;
        bwl_lock_set_error(bwl_lock_of(hold), "%s", list[i].why);
        assert_int_equal(bowline_hold_check(hold, &error), list[i].status);
        assert_int_equal(error.status, list[i].status);
        assert_non_null(strstr(error.text, list[i].text));
        assert_int_equal(strncmp(error.text, "n is ours for ", 14), 0);
        assert_int_equal(bowline_hold_check(hold, NULL), list[i].status);
    }
    bwl_lock_of(hold)->base.hold.last_error = BWL_PENDING;
    assert_int_equal(bowline_hold_check(hold, &error), BOWLINE_OK);
}

static void test_loss_is_seen_by_everything_at_its_moment(void **state)
{
    int fd = bowline_hold_lost_fd(hold, &error);

    (void)state;
    assert_true(fd >= 0);
    assert_true(bwl_lock_of(hold)->face.loss_at == bwl_lock_of(hold)->base.hold.until);
    bwl_lock_of(hold)->base.hold.until    = 1;
    bwl_lock_of(hold)->base.hold.timer_at = 1;
    assert_int_equal(bowline_hold_check(hold, &error), BOWLINE_LOST);
    assert_int_equal(error.status, BOWLINE_LOST);
    bwl_shard_lock(client->first);
    bwl_loop_set_timer(&client->first->loop, &bwl_lock_of(hold)->timer, 1);
    bwl_shard_unlock(client->first);
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 1);
    assert_int_equal(bowline_hold_check(hold, &error), BOWLINE_LOST);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_LOST);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_loss_descriptor_is_made_by_the_first_call_that_can(void **state)
{
    struct rlimit before, none;

    (void)state;
    assert_int_equal(bwl_lock_of(hold)->face.loss_fd, -1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none          = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = bowline_hold_lost_fd(hold, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, BOWLINE_SYSTEM);
    assert_int_equal(bwl_lock_of(hold)->face.loss_fd, -1);
    int fd = bowline_hold_lost_fd(hold, &error);
    assert_true(fd >= 0);
    assert_int_equal(bowline_hold_lost_fd(hold, &error), fd);
    assert_int_equal(bowline_hold_lost_fd(NULL, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_hold_check(NULL, &error), BOWLINE_USAGE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, take_a_name, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_loss_trouble_is_a_status_with_its_reason),
        CASE(test_loss_is_seen_by_everything_at_its_moment),
        CASE(test_loss_descriptor_is_made_by_the_first_call_that_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
