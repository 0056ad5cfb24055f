/*
 * test_fault_link.c -- the cable is pulled: client and server are on two ends of a link that goes
 * down, and neither is told.
 *
 * Nothing is refused, nothing is closed: what is sent is taken by the kernel and lost.  Only a
 * time-out notices.  The link is one between two network namespaces, made by the test, which needs
 * root; without, a proxy that is stopped takes its place: it takes what is sent and answers
 * nothing.
 */
#include "tests/lib/judged.h"
#include "tests/lib/proxy.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEASE_MS = 900 };

static server  *redis;
static witness *judge;
static char     holder_url[200];
static char     rival_url[200];
static char     client_end[16]; /* the name of our end of the link; "": there is none          */
static pid_t    far_side;       /* a process that keeps the other namespace, or is the proxy   */

/* ---- the link -------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static bool run(const char *format, ...)
{
    char    command[400];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command) == 0;
}

/* Between the namespace of this process, which is a new one, and another new one, the server's. */
static bool make_link(void)
{
    int  ready[2];
    char byte;

    if (geteuid() != 0 || !run("ip link help 2>/dev/null; command -v ip >/dev/null"))
        return false;
    if (unshare(CLONE_NEWNET) != 0)
        return false;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t parent = getpid();
    far_side     = fork();
    if (far_side == 0) {
        if (unshare(CLONE_NEWNET) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        while (getppid() == parent)
            sleep_ms(50);
        _exit(0);
    }
    bool made = read(ready[0], &byte, 1) == 1;
    (void)close(ready[0]);
    (void)close(ready[1]);
    made = made && run("ip link set lo up") &&
           run("ip link add bwl0 type veth peer name bwl1 netns %d", (int)far_side) &&
           run("ip addr add 10.117.0.1/30 dev bwl0 && ip link set bwl0 up") &&
           run("nsenter --net=/proc/%d/ns/net sh -c 'ip link set lo up && "
               "ip addr add 10.117.0.2/30 dev bwl1 && ip link set bwl1 up'",
               (int)far_side);
    if (made)
        (void)snprintf(client_end, sizeof client_end, "bwl0");
    return made;
}

/* The server is started inside the other namespace; a socket in the file system is the way round
 * the link. */
static void start_beyond_the_link(void)
{
    char path[64];
    int  ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)far_side);
    int theirs = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(ours >= 0 && theirs >= 0);
    assert_int_equal(setns(theirs, CLONE_NEWNET), 0);
    redis = server_start("--protected-mode no --bind 0.0.0.0");
    assert_int_equal(setns(ours, CLONE_NEWNET), 0);
    (void)close(ours);
    (void)close(theirs);
    (void)snprintf(holder_url, sizeof holder_url, "redis://10.117.0.2:%d?lease=%dms&timeout=250ms",
                   redis->port, LEASE_MS);
}

/* In its place: a process that hands on what comes, until it is stopped. */
static void start_behind_a_proxy(void)
{
    int  said[2];
    char url[64] = "";

    redis = server_start(NULL);
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    pid_t parent = getpid();
    far_side     = fork();
    if (far_side == 0) {
        proxy *line = proxy_start(redis, &(proxy_plan){ .fault = PROXY_NONE });
        (void)!write(said[1], proxy_url(line), strlen(proxy_url(line)));
        while (getppid() == parent)
            sleep_ms(50);
        _exit(0);
    }
    assert_true(read(said[0], url, sizeof url - 1) > 0);
    (void)close(said[0]);
    (void)close(said[1]);
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms&timeout=250ms", url, LEASE_MS);
}

static void link_goes(bool up)
{
    if (client_end[0] != '\0')
        assert_true(run("nsenter --net=/proc/%d/ns/net ip link set bwl1 %s", (int)far_side,
                        up ? "up" : "down"));
    else
        assert_int_equal(kill(far_side, up ? SIGCONT : SIGSTOP), 0);
}

/* ---- what is to be seen ---------------------------------------------------------------------- */

static int begin(void **state)
{
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    if (far_side > 0)
        link_goes(true);
    judge_dismiss(judge);
    return 0;
}

FIXTURE(begin, end)

TEST(link_down_for_longer_than_the_lease)
{
    bowline_client *client = must_open(holder_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_hold   *none   = NULL;
    lock_holder    *b      = holder_start(judge, hold);
    bowline_error   error  = { 0 };

    link_goes(false);
    int64_t fault_us = witness_now_us();
    rival  *r        = rival_start(judge, rival_url, "x");
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_true(rival_await_hold(r));
    int status = acquire_within(&none, client, "y", BOWLINE_NO_WAIT, &error);
    if (status != BOWLINE_UNKNOWN) /* it was asked of the old connection, or of none */
        assert_status(BOWLINE_UNREACHABLE, status, &error);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_true(rival_await_hold(r));
    link_goes(true);
    acquire_in_the_end(&none, client, "x");
    b = holder_start(judge, none);
    sleep_ms(50);
    (void)holder_stop(b);
    give_back_or_lose(none);
    rival_stop(r);
    bowline_close(client);
    assert_one_at_a_time(judge);
    assert_true(server_becomes_empty(redis));
}

TEST(link_down_for_less_than_the_lease)
{
    for (int rounds = 1;; rounds++) {
        char          url[300];
        bowline_error error = { 0 };
        /* What is sent into a link that is down is sent again by the kernel, later and later. */
        (void)snprintf(url, sizeof url, "%.*slease=6s&timeout=250ms",
                       (int)strcspn(holder_url, "?") + 1, holder_url);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        lock_holder    *b      = holder_start(judge, hold);
        rival          *r      = rival_start(judge, rival_url, "x");
        link_goes(false);
        int  status   = bowline_extend(hold, 0, &error);
        bool is_shown = status == BOWLINE_UNKNOWN || status == BOWLINE_UNREACHABLE;
        if (!is_shown && status != BOWLINE_LOST)
            assert_status(BOWLINE_UNKNOWN, status, &error); /* so that it says what it was */
        sleep_ms(2000);
        link_goes(true);
        sleep_ms(6000);
        bool kept = bowline_hold_left_ms(hold) > 0 && rival_hold_count(r) == 0;
        (void)holder_stop(b);
        status = bowline_release(hold, &error);
        assert_true(rival_await_hold(r));
        rival_stop(r);
        bowline_close(client);
        if (keeps_in_round(kept && is_shown, status, rounds))
            break;
    }
    assert_one_at_a_time(judge);
    assert_true(server_becomes_empty(redis));
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int link_is_made(void **state)
{
    server_needed();
    if (make_link())
        start_beyond_the_link();
    else
        start_behind_a_proxy();
    print_message("# %s\n", client_end[0] != '\0' ? "a link between two network namespaces"
                                                  : "a proxy that is stopped");
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms", redis->unix_url, LEASE_MS);
    return 0;
}

static int stop_all(void **state)
{
    server_stop(redis);
    if (far_side > 0) {
        (void)kill(far_side, SIGKILL);
        (void)waitpid(far_side, NULL, 0);
    }
    return 0;
}

AROUND(link_is_made, stop_all)
