/*
 * test_shard.c -- opening and closing a client; its clock, its timers, its descriptor.
 *
 * The engines interpret the URL; this test checks which engine gets it, and that a client that
 * cannot be opened leaves nothing behind.  Closing releases what is held and cancels what is being
 * acquired, in any order in which the locks were made.
 */
#include "api/engines.h"
#include "runtime/lock.h"
#include "api/engines.h"
#include "base/clock.h"
#include "protocol/token_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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
    (void)state;
    assert_int_equal(open_url(&client, "thread:"), BWL_OK);
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    if (client != NULL)
        bwl_shard_close(client);
    return 0;
}

static bwl_lock *ask(bwl_shard *whose, bwl_operation *op, const char *name, bwl_ms wait_ms)
{
    const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 5000 };
    bwl_lock       *lock;

    bwl_shard_lock(whose);
    int status = bwl_lock_new(&lock, whose, name, &terms, &fault);
    if (status == BWL_OK)
        bwl_lock_acquire(lock, op, wait_ms);
    bwl_shard_unlock(whose);
    assert_int_equal(status, BWL_OK); /* unlocked: the teardown would wait for the mutex */
    return lock;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void test_client_scheme_chooses_the_engine(void **state)
{
    static const struct {
        const char       *url;
        const bwl_engine *engine;
    } list[] = {
        { "thread:", &bwl_thread_engine },
        { "redis://127.0.0.1", &bwl_redis_engine },
        { "unix:///tmp/no-such-socket", &bwl_unix_engine },
    };
    bwl_shard *other;

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        assert_int_equal(open_url(&other, list[i].url), BWL_OK);
        assert_ptr_equal(other->host.engine, list[i].engine);
        bwl_shard_close(other);
    }
}

static void test_client_unknown_scheme_is_unsupported(void **state)
{
    bwl_shard *other = NULL;

    (void)state;
    assert_int_equal(open_url(&other, "etcd://h"), BWL_STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "etcd:"));
    assert_int_equal(open_url(&other, "thread"), BWL_STATUS_USAGE);
    assert_int_equal(open_url(&other, "thread:?lease=x"), BWL_STATUS_USAGE);
    assert_int_equal(open_url(&other, "thread:?nonsense=1"), BWL_STATUS_USAGE);
    assert_null(other);
}

static void test_client_settings_are_those_of_caller_and_url(void **state)
{
    const bwl_settings asked = { .lease_ms = 9000, .keeps = true };
    bwl_shard         *other;

    (void)state;
    assert_int_equal(bwl_shard_open(&other, bwl_engines, &asked, true, "thread:?wait=3s", &fault),
                     BWL_OK);
    assert_int_equal(other->host.settings.lease_ms, 9000);
    assert_int_equal(other->host.settings.wait_ms, 3000);
    assert_true(other->host.settings.keeps);
    assert_false(other->host.settings.renews);
    bwl_shard_close(other);
}

/* ---- the clock and the timers ---------------------------------------------------------------- */

static void test_client_clock_never_goes_back(void **state)
{
    (void)state;
    bwl_shard_lock(client);
    bwl_ms now = bwl_shard_now(client);
    assert_in_range(now, bwl_clock_now() - 1000, bwl_clock_now());
    client->host.latest = now + 60000; /* as if the clock had been there already */
    assert_int_equal(bwl_shard_now(client), now + 60000);
    client->host.latest = now - 60000;
    assert_in_range(bwl_shard_now(client), now, now + 60000);
    bwl_shard_unlock(client);
}

static bool is_woken(void)
{
    bwl_ready ready[BWL_READY_MAX];

    return bwl_reactor_wait(&client->host.reactor, 0, ready) == 1 && ready[0].source == NULL;
}

static bool say_yes(bwl_engine_lock *lock, const bwl_send *question, bwl_event *ret_reply)
{
    (void)lock;
    (void)question;
    ret_reply->answer = BWL_YES;
    return true;
}

static bool get_in_while_somebody_drives(const char *name, bwl_ms drives_for_ms)
{
    bwl_operation op;

    client->loop.is_running = true;
    client->loop.runs_until = bwl_shard_now(client) + drives_for_ms;
    (void)ask(client, &op, name, 0);
    client->loop.is_running = false;
    assert_int_equal(op.completion.result, BWL_HELD);
    return is_woken();
}

/* With an engine whose locks have a lease, and so a timer from the moment that they are held. */
static void test_client_alarm_wakes_who_drives_past_it(void **state)
{
    bwl_engine engine = *client->host.engine;

    (void)state;
    engine.protocol     = &bwl_token;
    engine.send         = say_yes;
    client->host.engine = &engine;
    assert_true(bwl_loop_fd(&client->loop, &fault) >= 0);
    assert_true(bwl_loop_next_timer(&client->loop) == BWL_NEVER);
    assert_false(get_in_while_somebody_drives("a", 1000)); /* the alarm is in 30 seconds */
    assert_in_range(bwl_loop_next_timer(&client->loop) - bwl_shard_now(client), 20000, 30000);
    assert_true(get_in_while_somebody_drives("b", 60000));
    bwl_shard_close(client);
    client = NULL;
    assert_int_equal(open_url(&client, "thread:"), BWL_OK);
}

static void test_client_descriptor_is_one_and_readable_when_woken(void **state)
{
    (void)state;
    bwl_shard_lock(client);
    int fd = bwl_loop_fd(&client->loop, &fault);
    assert_int_equal(bwl_loop_fd(&client->loop, &fault), fd);
    bwl_shard_unlock(client);
    assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 0);
    bwl_loop_wake(&client->loop);
    assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 1);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void test_client_close_gives_back_what_is_held_and_gives_up_what_is_sought(void **state)
{
    static bwl_operation ops[4];
    bwl_operation        op;
    bwl_shard           *other;
    bwl_lock            *locks[4];

    (void)state;
    assert_int_equal(open_url(&other, "thread:"), BWL_OK);
    bwl_lock *mine = ask(client, &op, "mine", 0);
    locks[0]       = ask(other, &ops[0], "a", 0);
    locks[1]       = ask(other, &ops[1], "mine", BWL_NEVER);
    locks[2]       = ask(other, &ops[2], "b", 0);
    locks[3]       = ask(other, &ops[3], "b", 0); /* busy, and nobody has taken note of it yet */
    assert_int_equal(ops[1].completion.result, BWL_PENDING);
    assert_int_equal(ops[3].completion.result, BWL_BUSY);
    bwl_shard_lock(other);
    bwl_lock_drop_handle(locks[1]);
    bwl_shard_unlock(other);
    bwl_shard_close(other);
    assert_int_equal(ops[1].completion.result, BWL_CANCELLED);
    (void)ask(client, &op, "a", 0);
    assert_int_equal(op.completion.result, BWL_HELD);
    (void)ask(client, &op, "b", 0);
    assert_int_equal(op.completion.result, BWL_HELD);
    bwl_shard_lock(client);
    bwl_lock_release(mine, &op);
    assert_int_equal(op.completion.result, BWL_RELEASED);
    bwl_shard_unlock(client);
}

static const bwl_engine *engine_below;
static size_t            timers_at_close;

/* The engine may set its own timer while it closes, which compares it with the others. */
static void count_timers_and_close(bwl_host *host)
{
    timers_at_close = bwl_shard_of(host)->loop.timers.count;
    host->engine    = engine_below;
    host->engine->close(host);
}

static bool say_not_sent(bwl_engine_lock *lock, const bwl_send *question, bwl_event *ret_reply)
{
    (void)lock;
    (void)question;
    ret_reply->answer = BWL_NOT_SENT;
    return true;
}

static void test_client_close_frees_no_lock_whose_timer_is_set(void **state)
{
    bwl_engine    unreached = *client->host.engine;
    bwl_operation ops[2];

    (void)state;
    engine_below        = client->host.engine;
    unreached.close     = count_timers_and_close;
    unreached.send      = say_yes;
    unreached.protocol  = &bwl_token;
    client->host.engine = &unreached;
    (void)ask(client, &ops[0], "a", 0);
    (void)ask(client, &ops[1], "b", 0);
    bwl_shard_lock(client);
    bwl_loop_set_timer(&client->loop, &client->loop.engine_timer, bwl_shard_now(client) + 1000);
    bwl_shard_unlock(client);
    assert_int_equal(ops[0].completion.result, BWL_HELD);
    assert_int_equal(ops[1].completion.result, BWL_HELD);
    unreached.send = say_not_sent; /* so that each lock has a timer for its next attempt */
    bwl_shard_close(client);
    client = NULL;
    assert_int_equal(timers_at_close, 1); /* that of the store */
}

static void test_client_close_leaves_no_descriptor_open(void **state)
{
    bwl_shard *other;

    (void)state;
    assert_int_equal(open_url(&other, "thread:"), BWL_OK);
    bwl_shard_lock(other);
    int fd      = bwl_loop_fd(&other->loop, &fault);
    int wake_fd = other->host.reactor.wake_fd;
    bwl_shard_unlock(other);
    bwl_shard_close(other);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(fcntl(wake_fd, F_GETFD), -1);
}

static void *hold_the_mutex(void *arg)
{
    bwl_shard_lock(client);
    (void)!write(*(int *)arg, "x", 1);
    (void)pause();
    return NULL;
}

/* In a child of that moment.  7: what somebody was changing has been left alone. */
static int close_in_child(int fd)
{
    bwl_shard_close(client);
    return fcntl(fd, F_GETFD) >= 0 ? 7 : 3;
}

/* The mutex of the parent's client may be held by a thread that does not exist in the child, and
 * was in the middle of something. */
static void test_client_child_can_close_it_whatever_the_parent_s_threads_were_doing(void **state)
{
    bwl_operation op;
    int           ends[2];
    int           status;
    char          c;

    (void)state;
    (void)ask(client, &op, "n", 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t helper = fork(); /* the thread that never ends shall not be the test program's */
    if (helper == 0) {
        pthread_t thread;
        assert_int_equal(open_url(&client, "thread:"), BWL_OK);
        bwl_shard_lock(client);
        int fd = bwl_loop_fd(&client->loop, &fault);
        bwl_shard_unlock(client);
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_client_scheme_chooses_the_engine),
        CASE(test_client_unknown_scheme_is_unsupported),
        CASE(test_client_settings_are_those_of_caller_and_url),
        CASE(test_client_clock_never_goes_back),
        CASE(test_client_alarm_wakes_who_drives_past_it),
        CASE(test_client_descriptor_is_one_and_readable_when_woken),
        CASE(test_client_close_gives_back_what_is_held_and_gives_up_what_is_sought),
        CASE(test_client_close_frees_no_lock_whose_timer_is_set),
        CASE(test_client_close_leaves_no_descriptor_open),
        CASE(test_client_child_can_close_it_whatever_the_parent_s_threads_were_doing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
