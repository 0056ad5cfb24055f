/*
 * test_fault_link.c -- a network link between client and server goes down, without notice to either
 * side.
 *
 * Nothing is refused and no connection is closed: the kernel accepts what is sent, and it is lost.
 * Only a time-out notices. The link connects two network namespaces, which needs root; without root
 * a stopped proxy replaces it: it accepts bytes and returns none.
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
static char     client_end[16]; /* our interface; "": no link */
static pid_t    far_side;       /* keeps the other namespace alive, or is the proxy */

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

/* Creates a link between two new namespaces: one for this process, one for the server. */
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

/* The server runs in the other namespace; its unix socket bypasses the link. */
static void start_server_behind_link(void)
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

/* Without a link: a process that forwards, until it is stopped. */
static void start_server_behind_proxy(void)
{
    int  url_pipe[2];
    char url[64] = "";

    redis = server_start(NULL);
    assert_int_equal(pipe2(url_pipe, O_CLOEXEC), 0);
    pid_t parent = getpid();
    far_side     = fork();
    if (far_side == 0) {
        proxy *line = proxy_start(redis, &(proxy_plan){ .fault = PROXY_NONE });
        (void)!write(url_pipe[1], proxy_url(line), strlen(proxy_url(line)));
        while (getppid() == parent)
            sleep_ms(50);
        _exit(0);
    }
    assert_true(read(url_pipe[0], url, sizeof url - 1) > 0);
    (void)close(url_pipe[0]);
    (void)close(url_pipe[1]);
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms&timeout=250ms", url, LEASE_MS);
}

static void set_link(bool up)
{
    if (client_end[0] != '\0')
        assert_true(run("nsenter --net=/proc/%d/ns/net ip link set bwl1 %s", (int)far_side,
                        up ? "up" : "down"));
    else
        assert_int_equal(kill(far_side, up ? SIGCONT : SIGSTOP), 0);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static int begin(void **state)
{
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    if (far_side > 0)
        set_link(true);
    judge_dismiss(judge);
    return 0;
}

FIXTURE(begin, end)

TEST(hold_is_lost_when_the_link_is_down_for_longer_than_the_lease)
{
    bowline_client *client = must_open(holder_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_hold   *none   = NULL;
    lock_holder    *b      = holder_start(judge, hold);
    bowline_error   error  = { 0 };

    set_link(false);
    int64_t fault_us = witness_now_us();
    rival  *r        = rival_start(judge, rival_url, "x");
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_true(rival_await_hold(r));
    int status = acquire_within(&none, client, "y", BOWLINE_NO_WAIT, &error);
    if (status != BOWLINE_UNKNOWN) /* sent over the old connection, or not sent */
        assert_status(BOWLINE_UNREACHABLE, status, &error);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_true(rival_await_hold(r));
    set_link(true);
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

TEST(hold_is_kept_when_the_link_is_down_for_less_than_the_lease)
{
    for (int rounds = 1;; rounds++) {
        char          url[300];
        bowline_error error = { 0 };
        /* The kernel retransmits at growing intervals what was sent while the link was down. */
        (void)snprintf(url, sizeof url, "%.*slease=6s&timeout=250ms",
                       (int)strcspn(holder_url, "?") + 1, holder_url);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        lock_holder    *b      = holder_start(judge, hold);
        rival          *r      = rival_start(judge, rival_url, "x");
        set_link(false);
        int  status   = bowline_extend(hold, 0, &error);
        bool is_shown = status == BOWLINE_UNKNOWN || status == BOWLINE_UNREACHABLE;
        if (!is_shown && status != BOWLINE_LOST)
            assert_status(BOWLINE_UNKNOWN, status, &error); /* prints the status */
        sleep_ms(2000);
        set_link(true);
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

/* ---- set-up ---------------------------------------------------------------------------------- */

static int link_is_made(void **state)
{
    server_needed();
    if (make_link())
        start_server_behind_link();
    else
        start_server_behind_proxy();
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
