/*
 * test_queue_dead.c -- protocol queue with holders and waiters that are killed, stopped, or lose
 * their connection.
 *
 * The other processes run the command `bowline run`. The tests check which client was granted the
 * lock, not when.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char url[200];

/* ---- processes ------------------------------------------------------------------------------- */

static pid_t run(const char *lease, const char *script)
{
    const char *command = getenv("BOWLINE");

    if (command == NULL)
        skip(); /* $BOWLINE is not set: not run by meson */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl(command, command, "run", "--url", url, "-t", lease, "x", "--", "sh", "-c",
                    script, (char *)NULL);
        _exit(125);
    }
    return pid;
}

static pid_t run_holder(void)
{
    pid_t pid = run("1h", "exec sleep 60");

    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1))
        if (strcmp(server_ask(redis, "EXISTS bowline:{x}"), "1") == 0)
            return pid;
    fail_msg("the command did not acquire the lock");
    return pid;
}

static int wait_for_exit(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void kill_hard(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(WIFSIGNALED(wait_for_exit(pid)));
}

/* Waits until so many push channels are subscribed. */
static bool push_channels_come_to(int count)
{
    int have = -1;

    for (int64_t end = clock_ms() + 10000; clock_ms() < end && have != count; sleep_ms(2)) {
        have = 0;
        for (const char *at = queue_push_channels(redis); (at = strstr(at, "bowline:i:")) != NULL;
             at++)
            have++;
    }
    return have == count;
}

/* ---- a holder that is killed ----------------------------------------------------------------- */

enum { WAITERS = 6 };

static void check_killed_holder(long count)
{
    bowline_client *clients[WAITERS];
    waiter          waiters[WAITERS];
    uint64_t        fence = 0;

    pid_t holder = run_holder();
    for (long i = 0; i < count; i++) {
        clients[i] = must_open(url);
        queue_await_join(redis, &waiters[i], clients[i], "x", i + 1);
    }
    kill_hard(holder);
    for (long i = 0; i < count; i++)
        assert_false(atomic_load(&waiters[i].ended));
    assert_string_equal(server_ask(redis, "PEXPIRE bowline:{x} 100"),
                        "1"); /* its lease is about to end */
    for (long i = 0; i < count; i++) {
        assert_true(waiter_ends(&waiters[i]));
        assert_status(BOWLINE_OK, waiter_join(&waiters[i]), &waiters[i].error);
        assert_true(bowline_hold_fence(waiters[i].hold) > fence);
        fence = bowline_hold_fence(waiters[i].hold);
        for (long j = i + 1; j < count; j++)
            assert_false(atomic_load(&waiters[j].ended));
        must_release(waiters[i].hold);
        bowline_close(clients[i]);
    }
    assert_true(queue_await_no_keys(redis));
}

FIXTURE(empty_server, NULL)

TEST(waiters_are_granted_in_order_after_the_holder_was_killed)
{
    check_killed_holder(WAITERS);
}

/* ---- a waiter that is killed or stopped ------------------------------------------------------ */

/* The release grants the lock to the second waiter. */
static void release_grants_to_the_second_waiter(bowline_hold *hold)
{
    char value[29];

    (void)snprintf(value, sizeof value, "%.28s", server_ask(redis, "ZRANGE bowline:{x}:bwl.q 1 1"));
    must_release(hold);
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), value);
}

/* The kernel closed its connection: the release skips it at no cost. */
TEST(killed_waiter_is_skipped)
{
    waiter w;

    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    pid_t           dead   = run("1h", "true");
    assert_true(queue_await_size(redis, "x", 1));
    queue_await_join(redis, &w, other, "x", 2);
    kill_hard(dead);
    assert_true(push_channels_come_to(2));
    release_grants_to_the_second_waiter(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* A stopped waiter looks alive and gets a provisional grant. When that ends, the next waiter is
 * granted the lock. When the stopped process continues, it waits again and acquires the lock. */
TEST(stopped_first_waiter_delays_the_queue_by_one_provisional_grant)
{
    waiter w;

    bowline_client *client  = must_open(url);
    bowline_client *other   = must_open(url);
    bowline_hold   *hold    = must_acquire(client, "x");
    pid_t           stopped = run("5s", "exit 7");
    assert_true(queue_await_size(redis, "x", 1));
    queue_await_join(redis, &w, other, "x", 2);
    assert_int_equal(kill(stopped, SIGSTOP), 0);
    must_release(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_int_equal(kill(stopped, SIGCONT), 0);
    assert_true(queue_await_size(redis, "x", 1));
    assert_true(bowline_hold_left_ms(w.hold) > 0);
    must_release(w.hold);
    int status = wait_for_exit(stopped);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* It missed three heartbeats: the release skips it, without a provisional grant. */
TEST(waiter_without_heartbeats_is_skipped)
{
    waiter w;

    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    pid_t           silent = run("1h", "exit 7");
    assert_true(queue_await_size(redis, "x", 1));
    queue_await_join(redis, &w, other, "x", 2);
    assert_int_equal(kill(silent, SIGSTOP), 0);
    sleep_ms(3500);
    release_grants_to_the_second_waiter(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    assert_int_equal(kill(silent, SIGCONT), 0);
    assert_int_equal(WEXITSTATUS(wait_for_exit(silent)), 7);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- connections ----------------------------------------------------------------------------- */

static void cut_all(void)
{
    (void)server_ask(redis, "CLIENT KILL TYPE pubsub");
    (void)server_ask(redis, "CLIENT KILL TYPE normal SKIPME yes");
}

TEST(waiters_keep_their_order_when_connections_are_killed)
{
    bowline_client *clients[WAITERS];
    waiter          waiters[WAITERS];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    for (long i = 0; i < WAITERS; i++) {
        clients[i] = must_open(url);
        queue_await_join(redis, &waiters[i], clients[i], "x", i + 1);
    }
    for (int round = 0; round < 3; round++) {
        cut_all();
        assert_true(queue_await_subscribers(redis, "x"));
        assert_true(queue_await_size(redis, "x", WAITERS));
    }
    assert_true(bowline_hold_left_ms(hold) > 0);
    must_release(hold);
    for (long i = 0; i < WAITERS; i++) {
        assert_true(waiter_ends(&waiters[i]));
        assert_status(BOWLINE_OK, waiter_join(&waiters[i]), &waiters[i].error);
        for (long j = i + 1; j < WAITERS; j++)
            assert_false(atomic_load(&waiters[j].ended));
        cut_all(); /* while the others wait and this one holds the lock */
        assert_true(queue_await_subscribers(redis, "x"));
        int status = bowline_release(waiters[i].hold, NULL);
        assert_true(status == BOWLINE_OK || status == BOWLINE_UNKNOWN);
    }
    for (long i = 0; i < WAITERS; i++)
        bowline_close(clients[i]);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- dead waiters ---------------------------------------------------------------------------- */

/* The live waiter behind ten thousand dead ones is granted the lock after the release: each script
 * call skips 64. */
TEST(ten_thousand_dead_waiters_are_skipped)
{
    enum { DEAD = 10000, EACH = 64, OTHER_CALLS = 8 };
    char   unlimited_url[200];
    waiter live;

    (void)snprintf(unlimited_url, sizeof unlimited_url, "%s?queue-max=0", redis->tcp_url);
    bowline_client *client = must_open(unlimited_url);
    bowline_client *other  = must_open(unlimited_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    (void)server_ask(redis,
                     "EVAL 'for i = 1, %d do redis.call(\"ZADD\", \"bowline:{x}:bwl.q\", i, "
                     "\"b1:dead\" .. i .. \" 1.0 bowline:i:none 2000\") end' 0",
                     DEAD);
    queue_await_join(redis, &live, other, "x", DEAD + 1);
    long calls_before = server_command_count(redis, "evalsha");
    must_release(hold);
    assert_int_equal(waiter_join(&live), BOWLINE_OK);
    must_release(live.hold);
    assert_in_range(server_command_count(redis, "evalsha") - calls_before, DEAD / EACH,
                    DEAD / EACH + OTHER_CALLS);
    bowline_close(client);
    bowline_close(other);
    assert_true(queue_await_no_keys(redis));
}

/* One script call skips 64 members of the queue. A waiter behind them may be alive. */
TEST(try_does_not_overtake_a_waiter_behind_dead_ones)
{
    enum { EACH = 64 };
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    bowline_client *client = must_open(url);
    (void)server_ask(redis,
                     "EVAL 'for i = 1, %d do redis.call(\"ZADD\", \"bowline:{x}:bwl.q\", i, "
                     "\"b1:dead\" .. i .. \" 1.0 bowline:i:none 2000\") end' 0",
                     EACH + 1);
    assert_status(BOWLINE_BUSY, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error),
                  &error);
    assert_string_equal(server_ask(redis, "ZCARD bowline:{x}:bwl.q"), "1");
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error), &error);
    must_release(hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    return 0;
}

AROUND(open_server, stop_server)
