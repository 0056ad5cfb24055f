/*
 * test_shard.c -- a timer that is due before the loop wakes up, and what closing a client does to
 * locks and to a client of the parent process.
 */
#include "api/engines.h"
#include "protocol/token_lock.h"
#include "runtime/lock.h"
#include "tests/lib/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static bwl_shard *client;
static bwl_fault  fault;

static int open_url(bwl_shard **ret_client, const char *url)
{
    static const bwl_settings nothing;

    fault = (bwl_fault){ 0 };
    return bwl_shard_open(ret_client, bwl_engines, &nothing, false, url, &fault);
}

static int open_client(void **state)
{
    assert_int_equal(open_url(&client, "thread:"), BWL_OK);
    return 0;
}

static int close_client(void **state)
{
    if (client != NULL)
        bwl_shard_close(client);
    return 0;
}

static bwl_lock *ask(bwl_shard *whose, bwl_operation *op, const char *name, bwl_ms wait_ms)
{
    const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 5000 };
    bwl_lock       *lock;

    bwl_loop_lock(&whose->loop);
    int status = bwl_lock_new(&lock, whose, whose->host.engine, name, &terms, &fault);
    if (status == BWL_OK)
        bwl_lock_acquire(lock, op, wait_ms);
    bwl_loop_unlock(&whose->loop);
    assert_int_equal(status, BWL_OK); /* unlocked: the teardown would wait for the mutex */
    return lock;
}

FIXTURE(open_client, close_client)

/* ---- timers ---------------------------------------------------------------------------------- */

static bool is_woken(void)
{
    bwl_ready ready[BWL_READY_MAX];

    return bwl_reactor_wait(&client->host.reactor, 0, ready) == 1 && ready[0].source == NULL;
}

static bool reply_yes(bwl_engine_lock *lock, const bwl_send *question, bwl_event *ret_reply)
{
    ret_reply->answer = BWL_YES;
    return true;
}

static bool acquire_while_loop_runs(const char *name, bwl_ms loop_runs_ms)
{
    bwl_operation op;

    client->loop.is_running = true;
    client->loop.runs_until = bwl_shard_now(client) + loop_runs_ms;
    (void)ask(client, &op, name, 0);
    client->loop.is_running = false;
    assert_int_equal(op.completion.result, BWL_HELD);
    return is_woken();
}

/* The locks of this engine have a lease, and so a timer as soon as they are held. */
TEST(timer_wakes_a_loop_that_would_sleep_longer)
{
    bwl_engine engine = *client->host.engine;

    engine.protocol     = &bwl_token;
    engine.send         = reply_yes;
    client->host.engine = &engine;
    assert_int_equal(bwl_reactor_open(&client->host.reactor, &fault), BWL_OK);
    assert_true(bwl_timers_next(&client->loop.timers) == BWL_NEVER);
    assert_false(acquire_while_loop_runs("a", 1000)); /* the timer is due in 30 seconds */
    assert_in_range(bwl_timers_next(&client->loop.timers) - bwl_shard_now(client), 20000, 30000);
    assert_true(acquire_while_loop_runs("b", 60000));
    bwl_shard_close(client);
    client = NULL;
    assert_int_equal(open_url(&client, "thread:"), BWL_OK);
}

/* ---- closing --------------------------------------------------------------------------------- */

static const bwl_engine *engine_below;
static size_t            timers_at_close;

/* The engine may set its own timer while it closes, which compares it with the others. */
static void count_timers_and_close(bwl_host *host)
{
    timers_at_close = bwl_shard_of(host)->loop.timers.count;
    host->engine    = engine_below;
    host->engine->close(host);
}

static bool reply_not_sent(bwl_engine_lock *lock, const bwl_send *question, bwl_event *ret_reply)
{
    ret_reply->answer = BWL_NOT_SENT;
    return true;
}

TEST(close_clears_the_timer_of_each_lock_first)
{
    bwl_engine    unreached = *client->host.engine;
    bwl_operation ops[2];

    engine_below        = client->host.engine;
    unreached.close     = count_timers_and_close;
    unreached.send      = reply_yes;
    unreached.protocol  = &bwl_token;
    client->host.engine = &unreached;
    (void)ask(client, &ops[0], "a", 0);
    (void)ask(client, &ops[1], "b", 0);
    bwl_loop_lock(&client->loop);
    bwl_loop_set_timer(&client->loop, &client->loop.engine_timer, bwl_shard_now(client) + 1000);
    bwl_loop_unlock(&client->loop);
    assert_int_equal(ops[0].completion.result, BWL_HELD);
    assert_int_equal(ops[1].completion.result, BWL_HELD);
    unreached.send = reply_not_sent; /* so that each lock has a timer for its next attempt */
    bwl_shard_close(client);
    client = NULL;
    assert_int_equal(timers_at_close, 1); /* the timer of the store */
}

static void *hold_the_mutex(void *arg)
{
    bwl_loop_lock(&client->loop);
    (void)!write(*(int *)arg, "x", 1);
    (void)pause();
    return NULL;
}

/* Runs in a child that was forked at that moment.  7: the descriptor is still open. */
static int close_in_child(int fd)
{
    bwl_shard_close(client);
    return fcntl(fd, F_GETFD) >= 0 ? 7 : 3;
}

/* A thread that does not exist in the child may hold the mutex of the parent's client. */
TEST(child_closes_a_client_whose_mutex_is_locked)
{
    bwl_operation op;
    int           ends[2];
    int           status;
    char          c;

    (void)ask(client, &op, "n", 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t helper = fork(); /* the blocked thread is in another process */
    if (helper == 0) {
        pthread_t thread;
        assert_int_equal(open_url(&client, "thread:"), BWL_OK);
        bwl_loop_lock(&client->loop);
        assert_int_equal(bwl_reactor_open(&client->host.reactor, &fault), BWL_OK);
        int fd = client->host.reactor.epoll_fd;
        bwl_loop_unlock(&client->loop);
        (void)pthread_create(&thread, NULL, hold_the_mutex, &ends[1]);
        (void)!read(ends[0], &c, 1);
        pid_t child = fork();
        if (child == 0)
            _exit(close_in_child(fd));
        _exit(waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(helper, &status, 0), helper);
    assert_int_equal(WEXITSTATUS(status), 7);
    close(ends[0]);
    close(ends[1]);
}
