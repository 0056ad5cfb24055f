/*
 * test_lock.c -- a run that waits for its lock, and signals that end the wait.
 *
 * Every read of the clock advances it by a millisecond, and a timer expires at once: so the wait is
 * counted in reads, however busy the machine is.
 */
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/job.h"

static int64_t looks;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, ret_time);

    if (failed == 0 && clock == CLOCK_BOOTTIME) {
        looks++;
        *ret_time = (struct timespec){ 1000 + looks / 1000, looks % 1000 * 1000000 };
    }
    return failed;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *ret_before)
{
    bool                    is_set = at->it_value.tv_sec != 0 || at->it_value.tv_nsec != 0;
    const struct itimerspec soon   = { .it_value = { .tv_nsec = is_set ? 1 : 0 } };

    return (int)syscall(SYS_timerfd_settime, fd, flags, &soon, ret_before);
}

static char  directory[64];
static char *command[] = { (char[]){ "true" }, NULL };
static job   j;

static bowline_client *other_client(void)
{
    bowline_client *client;
    bowline_options options = { .size = sizeof options, .url = j.settings.url };

    assert_int_equal(bowline_open(&client, &options, NULL), BOWLINE_OK);
    return client;
}

/* The test holds the lock before. */
static int begin(void **state)
{
    failure is;

    (void)snprintf(directory, sizeof directory, "/tmp/bowline-lock-XXXXXX");
    assert_non_null(mkdtemp(directory));
    j = (job){ .options   = { .name = "job", .command = command, .status_fd = -1, .quiet = true },
               .settings  = { .wait_ms = BOWLINE_FOREVER },
               .interrupt = INTERRUPT_NONE };
    (void)snprintf(j.settings.url, sizeof j.settings.url, "file:%s", directory);
    assert_int_equal(signals_take(&j.signals, &is), 0);
    assert_int_equal(lock_open(&j, &is), 0);
    loop_open(&j.loop, j.client, j.signals.fd);
    return 0;
}

static int end(void **state)
{
    bowline_close(j.client);
    signals_give_back(&j.signals);
    (void)close(j.signals.fd);
    if (j.loop.timer_fd >= 0)
        (void)close(j.loop.timer_fd);
    char file[80];
    (void)snprintf(file, sizeof file, "%s/job", directory);
    (void)unlink(file);
    return rmdir(directory);
}

FIXTURE(begin, end)

TEST(free_lock_is_acquired)
{
    failure       is;
    bowline_error error;

    assert_int_equal(lock_take(&j, &is), 0);
    assert_non_null(j.hold);
    assert_int_equal(j.ended_by, 0);
    assert_string_equal(j.settings.url, ""); /* it may contain a password */
    assert_int_equal(lock_release(&j, &error), BOWLINE_OK);
    assert_null(j.hold);
}

/* At once, not only at the end of the program. */
TEST(signal_during_the_wait_leaves_the_queue)
{
    bowline_client *another = other_client();
    bowline_hold   *held;
    failure         is;

    assert_int_equal(bowline_acquire(&held, another, "job", NULL, NULL), BOWLINE_OK);
    assert_int_equal(raise(SIGTERM), 0); /* it is pending when the wait begins */
    assert_int_equal(lock_take(&j, &is), 0);
    assert_null(j.hold);
    assert_int_equal(j.ended_by, SIGTERM);
    assert_int_equal(bowline_release(held, NULL), BOWLINE_OK);
    assert_int_equal(
        bowline_acquire(&held, another, "job", BOWLINE_ACQUIRE(.wait_ms = BOWLINE_NO_WAIT), NULL),
        BOWLINE_OK);
    assert_int_equal(bowline_release(held, NULL), BOWLINE_OK);
    bowline_close(another);
}

/* Another client holds the lock for longer than the wait. */
static void wait_in_vain(void)
{
    bowline_client *another = other_client();
    bowline_hold   *held;
    failure         is     = { 0 };
    int64_t         before = looks;

    assert_int_equal(bowline_acquire(&held, another, "job", NULL, NULL), BOWLINE_OK);
    j.settings.wait_ms = 200;
    assert_int_equal(lock_take(&j, &is), -1);
    assert_true(looks - before >= 200);
    assert_int_equal(is.code, EXIT_NOT_ACQUIRED);
    assert_non_null(strstr(is.what.text, "job was not acquired within"));
    assert_null(j.hold);
    assert_int_equal(j.ended_by, 0);
    assert_int_equal(bowline_release(held, NULL), BOWLINE_OK);
    bowline_close(another);
}

TEST(lock_wait_ends_after_its_time)
{
    wait_in_vain();
}

/* A child that is older than bowline may end meanwhile. */
TEST(lock_wait_does_not_end_with_a_child)
{
    assert_int_equal(raise(SIGCHLD), 0);
    wait_in_vain();
}
