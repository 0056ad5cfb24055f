/*
 * test_supervise.c -- the first actions of a run when it continues after a stop.
 *
 * Bowline stops itself when its command has stopped, and its clock advances meanwhile. Here it does
 * not stop: the clock jumps, and CONT arrives. The signals to the command are recorded in order.
 */
#include "tests/lib/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/job.h"

enum { MAX_HOLD_MS = 60000, GRACE_MS = 5000, SENT_MAX = 8 };

static int64_t  now_ms;
static int64_t  stopped_ms;     /* how long bowline stays stopped */
static bool     ends_by_others; /* bowline cannot stop, and another process ends the command */
static int      sent[SENT_MAX];
static unsigned sent_count;
static bool     was_stopped;
static job      j;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, ret_time);

    if (failed == 0 && clock == CLOCK_BOOTTIME)
        *ret_time = (struct timespec){ now_ms / 1000, now_ms % 1000 * 1000000 };
    return failed;
}

int kill(pid_t pid, int number)
{
    if (number == SIGTSTP) {
        assert_true(pid == 0 || pid == getpid());
        now_ms += stopped_ms;
        was_stopped = true;
        return ends_by_others ? (int)syscall(SYS_kill, -j.child.pid, SIGKILL)
                              : (int)syscall(SYS_kill, getpid(), SIGCONT);
    }
    if (was_stopped && number != 0 && sent_count < SENT_MAX)
        sent[sent_count++] = number;
    return (int)syscall(SYS_kill, pid, number);
}

static char directory[64];
static char file[80];

static int begin(void **state)
{
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-supervise-XXXXXX");
    assert_non_null(mkdtemp(directory));
    (void)snprintf(file, sizeof file, "%s/job", directory);
    now_ms         = 1000;
    sent_count     = 0;
    was_stopped    = false;
    ends_by_others = false;
    return 0;
}

static int end(void **state)
{
    bowline_close(j.client);
    signals_give_back(&j.signals);
    (void)close(j.signals.fd);
    (void)close(j.terminal.fd);
    if (j.loop.timer_fd >= 0)
        (void)close(j.loop.timer_fd);
    (void)unlink(file);
    return rmdir(directory);
}

/* Runs to the end of the command. There is a terminal, but the command does not get it. */
static void run(char **command)
{
    child_plan    plan = { .command = command, .signals = &j.signals };
    terminal      none = { .fd = -1 };
    bowline_error error;
    failure       is;

    j = (job){ .options   = { .name = "job", .command = command, .status_fd = -1, .quiet = true },
               .settings  = { .wait_ms = BOWLINE_FOREVER, .max_hold_ms = MAX_HOLD_MS },
               .terminal  = { .fd = open("/dev/null", O_RDWR | O_CLOEXEC) },
               .interrupt = INTERRUPT_NONE };
    (void)snprintf(j.settings.url, sizeof j.settings.url, "file:%s", directory);
    assert_int_equal(signals_take(&j.signals, &is), 0);
    assert_int_equal(lock_open(&j, &is), 0);
    loop_open(&j.loop, j.client, j.signals.fd);
    assert_int_equal(lock_take(&j, &is), 0);
    guard_init(&j.guard, LOST_TERM, GRACE_MS, job_left_ms(&j));
    assert_int_equal(signals_take_stops(&j.signals, &is), 0);
    assert_int_equal(child_start(&j.child, &plan, &none, &is), 0);
    supervise(&j);
    assert_true(was_stopped);
    assert_int_equal(lock_release(&j, &error), BOWLINE_OK);
}

static char *stopped[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "kill -STOP $$; exit 7" },
                           NULL };

FIXTURE(begin, end)

/* A command that is continued first would run for a moment without its lock. */
TEST(lock_that_ended_during_a_stop_ends_the_command_first)
{
    stopped_ms = MAX_HOLD_MS + 1000;
    run(stopped);
    assert_int_equal(sent[0], SIGKILL);
    assert_int_equal(j.child.killed_by, SIGKILL);
    assert_true(j.loss.is_lost);
}

TEST(lock_that_is_about_to_end_ends_the_command_first)
{
    stopped_ms = MAX_HOLD_MS - GRACE_MS;
    run(stopped);
    assert_int_equal(sent[0], SIGTERM);
    assert_int_equal(sent[1], SIGCONT);
    assert_int_equal(j.child.killed_by, SIGTERM);
    assert_true(j.loss.is_lost);
}

TEST(held_lock_continues_the_command)
{
    stopped_ms = 1000;
    run(stopped);
    assert_true(sent_count > 0);
    for (unsigned i = 0; i < sent_count; i++)
        assert_int_equal(sent[i], SIGCONT);
    assert_int_equal(j.child.code, 7);
    assert_true(j.child.group_is_over); /* its number may be reused by now */
    assert_false(j.loss.is_lost);
}

/* If bowline cannot stop too, the sender of STOP must continue the command. (Here it ends it.) */
TEST(command_stopped_by_another_process_is_not_continued)
{
    stopped_ms     = 1000;
    ends_by_others = true;
    run(stopped);
    for (unsigned i = 0; i < sent_count; i++)
        assert_int_not_equal(sent[i], SIGCONT);
    assert_int_equal(j.child.killed_by, SIGKILL);
}
