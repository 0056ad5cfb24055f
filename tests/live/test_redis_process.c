/*
 * test_redis_process.c -- what the library does to its process while a connection is open: no
 * descriptor stays open on exec, no SIGPIPE, no signal handler, no output, no CPU time when idle,
 * no call that blocks on a full socket; and commands that no caller waits for are sent.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool was_open[256];

static void note_descriptors(bool *is_open)
{
    DIR *dir = opendir("/proc/self/fd");

    assert_non_null(dir);
    memset(is_open, 0, sizeof was_open);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        int fd = atoi(e->d_name);
        if (fd != dirfd(dir) && fd < 256)
            is_open[fd] = true;
    }
    (void)closedir(dir);
}

FIXTURE(NULL, nothing_is_left)

TEST(descriptors_close_on_exec)
{
    const char *const urls[] = { redis->tcp_url, redis->unix_url };
    bool              is_open[256];

    for (int i = 0; i < 2; i++) {
        note_descriptors(was_open);
        bowline_client *client = must_open(urls[i]);
        bowline_hold   *hold   = must_acquire(client, "x");
        int             more   = 0;
        assert_true(bowline_fd(client) >= 0);
        note_descriptors(is_open);
        for (int fd = 0; fd < 256; fd++) {
            if (!is_open[fd] || was_open[fd])
                continue;
            more++;
            if (!descriptor_closes_on_exec(fd))
                fail_msg("descriptor %d does not close on exec", fd);
        }
        assert_true(more >= 3); /* a socket, and two descriptors to wait on */
        must_release(hold);
        bowline_close(client);
    }
}

/* ---- signals --------------------------------------------------------------------------------- */

/* This process has the default action for SIGPIPE, which ends it.  The first request is in flight
 * when the server closes the connection; at the second write the kernel knows that it has. */
TEST(write_to_a_closed_connection_raises_no_sigpipe)
{
    const char *const urls[] = { redis->tcp_url, redis->unix_url };
    bowline_hold     *holds[20];

    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    for (size_t u = 0; u < COUNT_OF(urls); u++) {
        bowline_client *client = must_open_without_renewal_thread(urls[u]);
        for (int i = 0; i < 20; i++) {
            char name[] = { (char)('a' + i), '\0' };
            holds[i]    = must_acquire(client, name);
        }
        (void)server_ask(redis, "CLIENT PAUSE 100 WRITE");
        for (int i = 0; i < 20; i++) {
            bowline_operation *op = NULL;
            assert_status(BOWLINE_OK, bowline_release_start(&op, holds[i], NULL), NULL);
            if (i > 0)
                continue;
            server_hang_up(redis);
            assert_true(server_comes_to(redis, "connected_clients:1\\x", "INFO clients"));
        }
        bowline_close(client);
        (void)server_ask(redis, "CLIENT UNPAUSE");
        (void)server_ask(redis, "FLUSHALL");
    }
}

static atomic_int alarms;

static void count_alarm(int number)
{
    atomic_fetch_add(&alarms, 1);
}

/* A signal is neither a reply, nor the end of a wait, nor an error. */
TEST(signals_do_not_interrupt_calls)
{
    struct sigaction  action = { .sa_handler = count_alarm };
    struct sigaction  before;
    timer_t           timer;
    struct sigevent   event  = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
    struct itimerspec often  = { .it_interval = { .tv_nsec = 500000 },
                                 .it_value    = { .tv_nsec = 500000 } };
    bowline_client   *client = must_open(redis->tcp_url);
    bowline_client   *other  = must_open(redis->unix_url);
    bowline_hold     *hold   = must_acquire(client, "x");
    bowline_hold     *none   = NULL;
    bowline_error     error  = { 0 };

    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
    assert_status(BOWLINE_TIMEOUT, acquire_within(&none, other, "x", 300, &error), &error);
    for (int i = 0; i < 300; i++)
        assert_status(BOWLINE_OK, try_once(other, "y"), NULL);
    assert_int_equal(timer_delete(timer), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_true(atomic_load(&alarms) > 10);
    must_release(hold);
    bowline_close(client);
    bowline_close(other);
}

/* ---- CPU time -------------------------------------------------------------------------------- */

static int64_t cpu_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A child of fork has a copy of the socket, which keeps the broken connection open: the parent must
 * stop polling it. */
TEST(broken_connection_with_a_copy_in_a_child_uses_no_cpu)
{
    bowline_client *client = must_open(redis->tcp_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    pid_t           child  = fork();

    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(child > 0);
    server_hang_up(redis);
    sleep_ms(IDLE_MS); /* a request in flight is another case */
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL); /* over a new connection */
    int64_t before = cpu_ms();
    assert_status(BOWLINE_OK, bowline_dispatch(client, 500, NULL), NULL);
    for (int64_t end = clock_ms() + 500; clock_ms() < end;)
        assert_status(BOWLINE_OK, bowline_dispatch(client, 500, NULL), NULL);
    assert_true(cpu_ms() - before < 250);
    must_release(hold);
    bowline_close(client);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- a full socket --------------------------------------------------------------------------- */

/* The server stops reading, and the socket buffers are full: no call blocks, and no release is
 * lost. */
TEST(nowait_does_not_block_when_the_server_reads_nothing)
{
    enum { HOLDS = 900 };
    static bowline_hold *holds[HOLDS];
    char                 name[BOWLINE_NAME_MAX + 1];

    for (unsigned queues = 0; queues < 2; queues++) {
        bowline_client *client = must_open_url("%s?protocol=%s&timeout=20s", redis->unix_url,
                                               queues ? "queue" : "token");
        for (unsigned i = 0; i < HOLDS; i++) {
            (void)snprintf(name, sizeof name, "%0*u", BOWLINE_NAME_MAX, i);
            holds[i] = must_acquire(client, name);
        }
        server_signal(redis, SIGSTOP);
        for (unsigned i = 0; i < HOLDS; i++)
            assert_status(BOWLINE_OK, bowline_release_nowait(holds[i], NULL), NULL);
        assert_status(BOWLINE_TIMEOUT, bowline_flush_releases(client, 0, NULL), NULL);
        server_signal(redis, SIGCONT);
        assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
        bowline_close(client);
    }
}

/* ---- commands that are held back ------------------------------------------------------------- */

/* The first command is sent at once.  The others are held back until its reply is read: then the
 * renewal thread sends them, or a caller that waits; with an event loop none is held back. */
TEST(coalesced_commands_are_sent_though_no_caller_waits)
{
    enum { HOLDS = 3, ROUNDS = 20, CALLER_WAITS = 1, EVENT_LOOP };
    static const char *const names[HOLDS] = { "a", "b", "c" };

    for (int how = 0; how <= EVENT_LOOP; how++) {
        bowline_client *client = must_open_url("%s?protocol=token&lease=10m", redis->tcp_url);
        bowline_hold   *holds[HOLDS];
        for (unsigned i = 0; i < HOLDS; i++)
            holds[i] = must_acquire(client, names[i]);
        assert_status(BOWLINE_OK, bowline_extend(holds[0], 0, NULL),
                      NULL); /* its script is known */
        assert_true(how != EVENT_LOOP || bowline_fd(client) >= 0);
        (void)server_ask(redis, "CONFIG RESETSTAT");
        for (unsigned round = 1; round <= (how == EVENT_LOOP ? 1 : ROUNDS); round++) {
            bowline_operation *ops[HOLDS];
            for (unsigned i = 0; i < HOLDS; i++)
                assert_status(BOWLINE_OK, bowline_extend_start(&ops[i], holds[i], 0, NULL), NULL);
            if (how == CALLER_WAITS)
                assert_status(BOWLINE_OK,
                              bowline_operation_wait(ops[HOLDS - 1], BOWLINE_FOREVER, NULL), NULL);
            assert_true(server_comes_to_run(redis, round * HOLDS));
            for (unsigned i = 0; i < HOLDS; i++)
                assert_status(BOWLINE_OK, bowline_finish(ops[i], NULL), NULL);
        }
        for (unsigned i = 0; i < HOLDS; i++)
            must_release(holds[i]);
        bowline_close(client);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static int fail_in_many_ways(void *arg)
{
    bowline_client *client = NULL;
    bowline_hold   *hold   = NULL;
    int            *fds    = arg;

    (void)dup2(fds[1], STDOUT_FILENO);
    (void)dup2(fds[1], STDERR_FILENO);
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = redis->tcp_url), NULL) != BOWLINE_OK)
        return 1;
    if (acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, NULL) != BOWLINE_OK)
        return 2;
    (void)try_once(client, "x");
    (void)try_once(client, "");
    (void)bowline_release(hold, NULL);
    bowline_close(client);
    return bowline_open(&client, BOWLINE_OPTIONS(.url = "nonsense"), NULL) == BOWLINE_OK;
}

TEST(library_writes_nothing_to_the_terminal)
{
    int  fds[2];
    char byte;

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(in_child(fail_in_many_ways, fds), 0);
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 0);
    (void)close(fds[0]);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

AROUND(start_server, stop_server)
