/*
 * test_family.c -- the processes of a command are found in any group, signalled, and counted;
 * test_stop.py has the whole command.
 *
 * The command of a test is a child of the test, as it would be of bowline. Each process writes a
 * byte into a pipe when it is in its place, and then sleeps for ever.
 */
#include "tests/lib/suite.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/child.h"

enum { USER_NOBODY = 65534 };

static int   ready[2];
static child c;

static family_known known;

static pid_t *orphan; /* of leave_twice, in memory shared with the command */

static int begin(void **state)
{
    orphan = mmap(NULL, sizeof *orphan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(orphan != MAP_FAILED);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    return 0;
}

/* Reaps every child: killed processes and orphans. */
static int end(void **state)
{
    family rest;

    do {
        family_signal(&rest, &known, &c, SIGKILL);
        for (pid_t ended; (ended = waitpid(-1, NULL, WNOHANG)) > 0;)
            if (ended == c.pid)
                c.is_running = false;
        c.group_is_over = !c.is_running && kill(-c.pid, 0) < 0;
    } while (rest.alive > 0);
    family_forget(&known);
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)munmap(orphan, sizeof *orphan);
    return 0;
}

_Noreturn static void sleep_for_ever(void)
{
    (void)!write(ready[1], "r", 1);
    for (;;)
        (void)pause();
}

static void wait_until_ready(int count)
{
    char byte;

    while (count-- > 0)
        assert_int_equal(read(ready[0], &byte, 1), 1);
}

/* The command, in its own group; it runs `body` and then sleeps. */
static void start(void (*body)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setpgid(0, 0);
        if (body != NULL)
            body();
        sleep_for_ever();
    }
    c = (child){ .pid = pid, .is_running = true };
}

static void leave_group(void)
{
    if (fork() == 0) {
        (void)setsid();
        sleep_for_ever();
    }
}

/* A daemon: its parent has ended. */
static void leave_twice(void)
{
    pid_t between = fork();

    if (between == 0) {
        pid_t daemon = fork();
        if (daemon == 0) {
            (void)setsid();
            sleep_for_ever();
        }
        *orphan = daemon;
        _exit(0);
    }
    (void)waitpid(between, NULL, 0);
}

static void have_zombie(void)
{
    pid_t     pid = fork();
    siginfo_t info;

    if (pid == 0)
        _exit(0);
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

static void take_odd_name(void)
{
    (void)prctl(PR_SET_NAME, "a) Z 1 (b");
}

static void move_to_group_of_parent(void)
{
    (void)setpgid(0, getpgid(getppid()));
}

static int count_of(int number)
{
    family f;

    family_signal(&f, &known, &c, number);
    return f.alive;
}

FIXTURE(begin, end)

/* What the command does first, and how many processes of it a scan then counts. */
static const struct counted {
    const char *name;
    void (*body)(void);
    int         alive;
    const char *program; /* NULL: any */
} counted[] = {
    { "family_counts_the_command", NULL, 1, NULL },
    { "family_counts_a_process_in_its_own_session", leave_group, 2, NULL },
    { "family_counts_a_daemon", leave_twice, 2, NULL },
    { "family_counts_a_command_in_our_group", move_to_group_of_parent, 1, NULL },
    { "family_counts_no_zombie", have_zombie, 1, NULL },
    { "family_counts_a_command_with_an_odd_name", take_odd_name, 1, "a) Z 1 (b" },
};

static void test_count(void **state)
{
    const struct counted *is = *state;
    family                f;

    start(is->body);
    wait_until_ready(is->alive);
    family_signal(&f, &known, &c, 0);
    assert_int_equal(f.alive, is->alive);
    assert_int_equal(f.refused, 0);
    if (is->alive == 1)
        assert_int_equal(f.pid, c.pid);
    if (is->program != NULL)
        assert_string_equal(f.program, is->program);
}

ROWS(counted, test_count)

static void kill_command(void)
{
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    c.is_running = false;
}

TEST(family_outside_gets_the_signal_and_the_group_does_not)
{
    int   status;
    pid_t pid;

    start(leave_twice);
    wait_until_ready(2);
    family_signal_outside(&known, &c, SIGTERM);
    pid = waitpid(-1, &status, 0);
    assert_true(pid > 0 && pid != c.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(kill(c.pid, 0), 0);
    assert_int_equal(waitpid(c.pid, &status, WNOHANG), 0);
}

/* Found before its parents ended, it stays known. */
TEST(family_keeps_a_known_orphan)
{
    start(leave_group);
    wait_until_ready(2);
    c.had_children = true;
    assert_int_equal(count_of(0), 2);
    kill_command();
    assert_int_equal(count_of(0), 1);
}

/* The number of an empty group may be reused. */
TEST(family_does_not_signal_an_ended_group)
{
    start(NULL);
    wait_until_ready(1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        sleep_for_ever();
    assert_int_equal(setpgid(pid, c.pid), 0);
    wait_until_ready(1);
    c.had_children = true; /* it belongs to the command only by its group */
    assert_int_equal(count_of(0), 2);
    kill_command();
    assert_int_equal(count_of(0), 1);
    c.group_is_over = true;
    family_forget(&known);
    assert_int_equal(count_of(0), 0);
    c.group_is_over = false;
}

/* Another file system hides its directory in /proc, in a mount namespace of this test. */
TEST(family_reports_a_process_that_a_scan_misses)
{
    char   place[32];
    family f;

    start(leave_twice);
    wait_until_ready(2);
    (void)snprintf(place, sizeof place, "/proc/%d", (int)*orphan);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", place, "tmpfs", 0, NULL) < 0) {
        print_message("# no process can be hidden: %s\n", strerror(errno));
        skip();
    }
    kill_command();
    c.group_is_over = true; /* the number may be reused */
    family_signal(&f, &known, &c, SIGKILL);
    assert_int_equal(f.alive, 1);
    assert_int_equal(f.pid, 0);
    assert_int_equal(umount2(place, MNT_DETACH), 0);
}

TEST(family_reports_a_process_that_may_not_be_signalled)
{
    family f;

    if (geteuid() != 0) {
        print_message("not root: no process of another user can be started\n");
        skip();
    }
    start(leave_group);
    wait_until_ready(2);
    assert_int_equal(setresuid(USER_NOBODY, USER_NOBODY, 0), 0);
    family_signal(&f, &known, &c, SIGKILL);
    assert_int_equal(setresuid(0, 0, 0), 0);
    assert_int_equal(f.alive, 2);
    assert_int_equal(f.refused, 2);
    assert_int_equal(kill(c.pid, 0), 0);
}
