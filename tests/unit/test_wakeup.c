/*
 * test_wakeup.c -- the descriptors of a client for an event loop of the caller.
 *
 * conformance/test_engines_events.c tests what they report on every engine.  Here: how they are
 * made, what works without them, and the effect of another thread inside the client.
 */
#include "api/handles.h"
#include "runtime/wakeup.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

static bowline_client *client;
static bowline_error   error;

static int open_client(void **state)
{
    client = must_open_without_renewal_thread("thread:");
    return 0;
}

static int close_client(void **state)
{
    bowline_close(client);
    return 0;
}

static bool is_readable(int fd, int wait_ms)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, wait_ms) == 1;
}

static void limit_descriptors(rlim_t count, struct rlimit *ret_before)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ count, ret_before->rlim_max }), 0);
}

FIXTURE(open_client, close_client)

TEST(wakeup_descriptors_are_made_once)
{
    int fd      = bowline_fd(client);
    int pipe_fd = bowline_wakeup_fd(client, &error);

    assert_true(fd >= 0 && pipe_fd >= 0 && fd != pipe_fd);
    assert_int_equal(bowline_fd(client), fd);
    assert_int_equal(bowline_wakeup_fd(client, &error), pipe_fd);
    assert_int_equal(bowline_wakeup_fd(NULL, &error), BOWLINE_USAGE);
}

TEST(wakeup_that_cannot_be_made_leaves_nothing_and_is_tried_again)
{
    struct rlimit before;

    limit_descriptors(3, &before);
    int status = bowline_wakeup_fd(client, &error);
    int other  = bowline_fd(client);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, BOWLINE_SYSTEM);
    assert_int_equal(other, BOWLINE_SYSTEM);
    assert_null(client->wakeup);
    assert_null(client->first->loop.wakeup);
    assert_true(bowline_wakeup_fd(client, &error) >= 0);
}

static int use_and_close_in_child(void *arg)
{
    bool is_forked =
        bowline_fd(client) == BOWLINE_FORKED && bowline_wakeup_fd(client, &error) == BOWLINE_FORKED;

    bowline_close(client);
    return is_forked ? 7 : 1;
}

/* It has the descriptors, and not the thread: the close must not wait for that thread. */
TEST(wakeup_in_a_child_returns_forked_and_close_returns)
{
    assert_true(bowline_wakeup_fd(client, &error) >= 0);
    assert_int_equal(in_child(use_and_close_in_child, NULL), 7);
}

/* An earlier timer replaces a later one (of five seconds, for the reply), and a dispatch takes the
 * one that was due.  On a machine that stops, both the timer and the time-out of poll are due. */
TEST(wakeup_descriptor_is_readable_when_the_next_timer_is_due)
{
    bowline_hold *hold, *shorter;
    int           fd = bowline_fd(client);

    assert_int_equal(
        bowline_acquire(&hold, client, "n", BOWLINE_ACQUIRE(.max_hold_ms = 3600000), &error),
        BOWLINE_OK);
    assert_false(is_readable(fd, 0));
    assert_int_equal(
        bowline_acquire(&shorter, client, "m", BOWLINE_ACQUIRE(.max_hold_ms = 20), &error),
        BOWLINE_OK);
    while (bowline_hold_left_ms(shorter) > 0) {
        assert_true(is_readable(fd, 2000));
        assert_int_equal(bowline_timeout_ms(client), 0);
        assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    }
    assert_false(is_readable(fd, 0));
    assert_true(bowline_timeout_ms(client) > 60000);
}

TEST(wakeup_descriptor_stays_readable_until_the_next_dispatch)
{
    int fd = bowline_fd(client);

    bwl_wakeup_raise(client->wakeup);
    bwl_wakeup_raise(client->wakeup);
    assert_true(is_readable(fd, 0));
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    assert_false(is_readable(fd, 0));
}

/* The operation ends inside the call that starts it.  A caller without events checks it. */
TEST(wakeup_operation_that_ends_in_its_start_wakes_a_loop_with_events)
{
    bowline_event event = { .size = sizeof event };
    int           fd    = bowline_fd(client);

    (void)must_start(client, "n", BOWLINE_FOREVER);
    assert_false(is_readable(fd, 0));
    assert_int_equal(bowline_next_event(client, &event, &error), 1);
    (void)must_start(client, "m", BOWLINE_FOREVER);
    assert_true(is_readable(fd, 0));
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    assert_int_equal(bowline_next_event(client, &event, &error), 1);
    assert_false(is_readable(fd, 0));
}

/* ---- without descriptors --------------------------------------------------------------------- */

TEST(wakeup_without_descriptors_acquires_a_free_lock_and_never_waits)
{
    bowline_hold *held = must_acquire(client, "n"), *free_one = NULL, *none = NULL;
    struct rlimit before;

    limit_descriptors(3, &before);
    int taken    = bowline_acquire(&free_one, client, "m", NULL, NULL);
    int waited   = bowline_acquire(&none, client, "n", BOWLINE_ACQUIRE(.wait_ms = 1000), &error);
    int lost_fd  = bowline_hold_lost_fd(held, NULL);
    int dispatch = bowline_dispatch(client, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(taken, BOWLINE_OK);
    assert_int_equal(waited, BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "n: cannot wait for events"));
    assert_true(error.system_errno != 0 && none == NULL);
    assert_int_equal(lost_fd, BOWLINE_SYSTEM);
    assert_int_equal(dispatch, BOWLINE_SYSTEM);
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK); /* now there are some */
    assert_true(bowline_hold_lost_fd(held, &error) >= 0);
}

/* Returns how many waits were refused before the acquire ended. */
static unsigned wait_without_descriptors(int64_t wait_ms)
{
    bowline_hold      *none    = NULL;
    bowline_operation *op      = must_start(client, "n", wait_ms);
    unsigned           refused = 0;
    struct rlimit      before;

    bwl_loop_lock(&client->first->loop);
    bwl_reactor_close(&client->first->host.reactor); /* the engine has opened it */
    bwl_loop_unlock(&client->first->loop);
    limit_descriptors(0, &before);
    while (!bowline_operation_done(op))
        refused += bowline_operation_wait(op, BOWLINE_FOREVER, NULL) == BOWLINE_SYSTEM;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(bowline_acquire_finish(&none, op, &error), BOWLINE_TIMEOUT);
    return refused;
}

/* The caller cannot wait for anything, but time passes.  If the machine stops until the end of the
 * wait, the next round waits for longer. */
TEST(wakeup_without_descriptors_ends_an_acquire_in_time)
{
    (void)must_acquire(client, "n");
    for (int64_t wait_ms = 40; wait_without_descriptors(wait_ms) == 0; wait_ms *= 2)
        assert_true(wait_ms < 60000);
}

/* ---- several threads ------------------------------------------------------------------------- */

static void *dispatch_once(void *arg)
{
    (void)bowline_dispatch(client, 60000, NULL);
    return arg;
}

static void await_runner(void)
{
    for (bool is_running = false; !is_running; (void)sched_yield()) {
        bwl_loop_lock(&client->first->loop);
        is_running = client->first->loop.is_running;
        bwl_loop_unlock(&client->first->loop);
    }
}

/* The second dispatch has nothing to do and ends first.  A notification still goes to the thread
 * inside the first one, and not to the descriptor of the caller's loop, which no thread polls. */
TEST(wakeup_thread_in_dispatch_is_notified_after_another_dispatch)
{
    pthread_t dispatches;

    assert_true(bowline_fd(client) >= 0);
    assert_int_equal(pthread_create(&dispatches, NULL, dispatch_once, NULL), 0);
    await_runner();
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    bwl_loop_lock(&client->first->loop);
    unsigned inside = client->first->loop.dispatchers;
    bwl_loop_notify_caller(&client->first->loop);
    bwl_loop_unlock(&client->first->loop);
    assert_int_equal(pthread_join(dispatches, NULL), 0);
    assert_int_equal(inside, 1);
}
