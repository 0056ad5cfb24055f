/*
 * test_loop.c -- the event loop: which descriptors it opens, and that it wakes up without a timer
 * too.
 */
#include "tests/lib/suite.h"

#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/run/loop.h"

static loop l;
static int  ends[2];

static int open_loop(void **state)
{
    assert_int_equal(pipe(ends), 0);
    loop_open(&l, NULL, ends[0]);
    return 0;
}

static int close_loop(void **state)
{
    if (l.timer_fd >= 0)
        (void)close(l.timer_fd);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}

FIXTURE(open_loop, close_loop)

/* Sleeps for 20 ms at least. */
static void sleep_in_the_loop(void)
{
    int64_t until = loop_now() + 20;

    loop_turn(&l, 20);
    assert_true(loop_now() >= until);
}

/* No descriptor can be opened; the limit before. */
static struct rlimit forbid_descriptors(void)
{
    struct rlimit before;
    int           next = dup(ends[0]);

    assert_int_equal(close(next), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = { .rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

TEST(loop_without_an_end_has_no_timer)
{
    assert_int_equal(write(ends[1], "s", 1), 1);
    loop_turn(&l, BOWLINE_FOREVER);
    loop_turn(&l, 0);
    assert_int_equal(l.timer_fd, -1);
}

TEST(loop_wakes_at_its_time_and_keeps_the_timer)
{
    sleep_in_the_loop();
    int timer_fd = l.timer_fd;
    assert_true(timer_fd >= 0);
    loop_turn(&l, 1);
    assert_int_equal(l.timer_fd, timer_fd);
}

/* An expiration of an earlier wait does not end a later one. */
TEST(loop_clears_an_expired_timer)
{
    loop_turn(&l, 1);
    sleep_in_the_loop();
}

static int64_t timer_left_ms(void)
{
    struct itimerspec left;

    assert_int_equal(timerfd_gettime(l.timer_fd, &left), 0);
    return (int64_t)left.it_value.tv_sec * 1000 + left.it_value.tv_nsec / 1000000;
}

/* The timer is set again only for an earlier time, or after it has expired. */
TEST(loop_keeps_a_timer_that_is_early_enough)
{
    assert_int_equal(write(ends[1], "s", 1), 1); /* no turn sleeps */
    loop_turn(&l, 60000);
    loop_turn(&l, 120000);
    assert_in_range(timer_left_ms(), 1, 60000);
    loop_turn(&l, 1000);
    assert_in_range(timer_left_ms(), 0, 1000);
    int64_t expires_at = l.expires_at;
    loop_turn(&l, BOWLINE_FOREVER);
    assert_true(l.expires_at == expires_at);

    loop_turn(&l, 1);
    while (timer_left_ms() > 0 || l.expires_at > loop_now())
        ;
    loop_turn(&l, 60000);
    assert_in_range(timer_left_ms(), 1, 60000);
    loop_turn(&l, -5); /* overdue */
    assert_int_equal(timer_left_ms(), 0);
    loop_turn(&l, BOWLINE_FOREVER); /* an expired timer would wake it again and again */
    assert_true(l.expires_at == INT64_MAX);
}

TEST(loop_does_not_sleep_when_it_is_overdue)
{
    loop_turn(&l, -5);
    loop_turn_until(&l, loop_now() - 1); /* not BOWLINE_FOREVER */
}

TEST(loop_wakes_for_a_signal_before_its_time)
{
    int64_t began = loop_now();
    assert_int_equal(write(ends[1], "s", 1), 1);
    loop_turn(&l, 1000000);
    assert_true(loop_now() < began + 1000000);
}

/* With a missing timer it would sleep for ever. */
TEST(loop_without_a_descriptor_for_a_timer_still_wakes_up)
{
    struct rlimit before = forbid_descriptors();

    sleep_in_the_loop();
    int64_t began = loop_now();
    loop_turn(&l, 1000000);
    assert_true(loop_now() < began + 1000000);
    assert_int_equal(l.timer_fd, -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    loop_turn(&l, 1);
    assert_true(l.timer_fd >= 0);
}

/* Then it polls the client. */
TEST(loop_without_a_descriptor_for_the_client_still_wakes_up)
{
    assert_int_equal(bowline_open(&l.client, BOWLINE_OPTIONS(.url = "thread:"), NULL), BOWLINE_OK);
    struct rlimit before = forbid_descriptors();
    assert_true(bowline_fd(l.client) < 0);
    assert_true(bowline_timeout_ms(l.client) == BOWLINE_FOREVER);
    loop_turn(&l, BOWLINE_FOREVER);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    bowline_close(l.client);
    l.client = NULL;
}

TEST(loop_without_an_end_sleeps_for_the_longest_time)
{
    assert_int_equal(loop_earlier(5, BOWLINE_FOREVER), 5);
    assert_int_equal(loop_earlier(BOWLINE_FOREVER, 5), 5);
    assert_int_equal(loop_earlier(BOWLINE_FOREVER, BOWLINE_FOREVER), BOWLINE_FOREVER);
    assert_int_equal(loop_earlier(5, 7), 5);
    assert_int_equal(loop_earlier(7, 0), 0);
}
