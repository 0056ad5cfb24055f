/*
 * test_queue_dead.c -- protocol queue, with processes that die, stop, or lose their connection:
 * while they hold the lock, and while they wait for it.
 *
 * The others are the command, `bowline run`, each a process of its own.  What is asserted is who
 * was served, not when.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/proxy.h"
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
        skip(); /* run by hand */
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
    fail_msg("it has not got the lock");
    return pid;
}

static int end_of(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void kill_hard(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(WIFSIGNALED(end_of(pid)));
}

/* How many connections have an inbox. */
static bool inboxes_come_to(int count)
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

enum { MANY = 6 };

static void holder_is_killed_with(long count)
{
    bowline_client *clients[MANY];
    waiter          waiters[MANY];
    uint64_t        fence = 0;

    pid_t holder = run_holder();
    for (long i = 0; i < count; i++) {
        clients[i] = must_open(url);
        queue_await_join(redis, &waiters[i], clients[i], "x", i + 1);
    }
    kill_hard(holder);
    for (long i = 0; i < count; i++)
        assert_false(atomic_load(&waiters[i].ended));
    assert_string_equal(server_ask(redis, "PEXPIRE bowline:{x} 100"), "1"); /* its lease ends */
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

TEST(killed_holder_is_followed_by_those_who_wait_in_order)
{
    holder_is_killed_with(MANY);
}

/* ---- a waiter that is killed, or stopped ----------------------------------------------------- */

/* The release itself gives it to the second in line. */
static void next_but_one_is_served(bowline_hold *hold)
{
    char value[29];

    (void)snprintf(value, sizeof value, "%.28s", server_ask(redis, "ZRANGE bowline:{x}:bwl.q 1 1"));
    must_release(hold);
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), value);
}

/* Its socket is closed: it costs nothing, and the one behind it has it at once. */
TEST(killed_waiter_is_passed_over)
{
    waiter w;

    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    pid_t           dead   = run("1h", "true");
    assert_true(queue_await_size(redis, "x", 1));
    queue_await_join(redis, &w, other, "x", 2);
    kill_hard(dead);
    assert_true(inboxes_come_to(2));
    next_but_one_is_served(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* It is given the lock, for a claim, as nobody can know.  The claim ends, the one behind it has
 * it; and when it goes on, it waits again, and has its turn. */
TEST(stopped_waiter_at_the_head_holds_up_for_one_claim)
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
    int status = end_of(stopped);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* Nothing was heard of it for longer than three beats: it is passed over, and no claim is spent. */
TEST(waiter_that_was_long_silent_is_passed_over)
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
    next_but_one_is_served(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    assert_int_equal(kill(silent, SIGCONT), 0);
    assert_int_equal(WEXITSTATUS(end_of(silent)), 7);
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

TEST(cut_connection_keeps_its_place)
{
    bowline_client *clients[MANY];
    waiter          waiters[MANY];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    for (long i = 0; i < MANY; i++) {
        clients[i] = must_open(url);
        queue_await_join(redis, &waiters[i], clients[i], "x", i + 1);
    }
    for (int round = 0; round < 3; round++) {
        cut_all();
        assert_true(queue_await_subscribers(redis, "x"));
        assert_true(queue_await_size(redis, "x", MANY));
    }
    assert_true(bowline_hold_left_ms(hold) > 0);
    must_release(hold);
    for (long i = 0; i < MANY; i++) {
        assert_true(waiter_ends(&waiters[i]));
        assert_status(BOWLINE_OK, waiter_join(&waiters[i]), &waiters[i].error);
        for (long j = i + 1; j < MANY; j++)
            assert_false(atomic_load(&waiters[j].ended));
        cut_all(); /* while the next ones wait, and this one holds */
        assert_true(queue_await_subscribers(redis, "x"));
        int status = bowline_release(waiters[i].hold, NULL);
        assert_true(status == BOWLINE_OK || status == BOWLINE_UNKNOWN);
    }
    for (long i = 0; i < MANY; i++)
        bowline_close(clients[i]);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- who does not wait ----------------------------------------------------------------------- */

/* The live one behind ten thousand of them has it when it is given back: 64 go with each script. */
TEST(ten_thousand_of_the_dead_are_passed_over)
{
    enum { MANY_DEAD = 10000, EACH = 64, BESIDE = 8 };
    char   any[200];
    waiter live;

    (void)snprintf(any, sizeof any, "%s?queue-max=0", redis->tcp_url);
    bowline_client *client = must_open(any);
    bowline_client *other  = must_open(any);
    bowline_hold   *hold   = must_acquire(client, "x");
    (void)server_ask(redis,
                     "EVAL 'for i = 1, %d do redis.call(\"ZADD\", \"bowline:{x}:bwl.q\", i, "
                     "\"b1:dead\" .. i .. \" 1.0 bowline:i:none 2000\") end' 0",
                     MANY_DEAD);
    queue_await_join(redis, &live, other, "x", MANY_DEAD + 1);
    long asked = server_command_count(redis, "evalsha");
    must_release(hold);
    assert_int_equal(waiter_join(&live), BOWLINE_OK);
    must_release(live.hold);
    assert_in_range(server_command_count(redis, "evalsha") - asked, MANY_DEAD / EACH,
                    MANY_DEAD / EACH + BESIDE);
    bowline_close(client);
    bowline_close(other);
    assert_true(queue_await_no_keys(redis));
}

/* One script call passes over 64 members of the queue.  A waiter behind them may be alive. */
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
