/*
 * test_wakeup_fd.c -- how an event loop of the caller is woken: the outer descriptor, and the pipe
 * with its thread.
 *
 * The clients are of thread:, where nothing happens without the test: it causes every readable
 * descriptor.  The wait for a byte ends after ten seconds.  That no byte comes is shown by what
 * the thread must have done in the meantime.
 */
#include "runtime/wakeup.h"
#include "runtime/shard.h"
#include "api/engines.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 2, LONG_MS = 10000, A_MOMENT_MS = 30 };

static bwl_wakeup *bell;
static bwl_shard  *clients[COUNT]; /* whose loop it is; another that rings                       */
static bwl_fault   fault;

static int hang(void **state)
{
    (void)state;
    bwl_settings asked = { 0 };
    assert_int_equal(bwl_wakeup_new(&bell, &fault), BWL_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(bwl_shard_open(&clients[i], bwl_engines, &asked, false, "thread:", &fault),
                         BWL_OK);
        assert_int_equal(bwl_reactor_open(&clients[i]->host.reactor, &fault), BWL_OK);
    }
    bwl_shard_lock(clients[0]);
    assert_int_equal(bwl_loop_attach_wakeup(&clients[0]->loop, bell, &fault), BWL_OK);
    bwl_shard_unlock(clients[0]);
    assert_ptr_equal(clients[0]->loop.wakeup, bell);
    clients[1]->loop.wakeup = bell;
    return 0;
}

static int take_down(void **state)
{
    (void)state;
    bwl_wakeup_stop(bell);
    for (int i = 0; i < COUNT; i++)
        bwl_shard_close(clients[i]);
    bwl_wakeup_free(bell);
    return 0;
}

static bool is_readable(int fd, int wait_ms)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, wait_ms) == 1;
}

/* As bowline_dispatch does it. */
static void dispatch(void)
{
    bwl_wakeup_dispatch_begins(bell);
    bwl_shard_lock(clients[0]);
    assert_int_equal(bwl_loop_run(&clients[0]->loop, bwl_shard_now(clients[0]), &fault), BWL_OK);
    bwl_shard_unlock(clients[0]);
    bwl_wakeup_dispatch_ended(bell);
}

static int must_have_pipe(void)
{
    int fd = bwl_wakeup_pipe(bell, &fault);

    assert_true(fd >= 0);
    return fd;
}

/* ---- the outer descriptor -------------------------------------------------------------------- */

static void test_bell_descriptor_shows_what_its_client_has_and_no_other(void **state)
{
    int fd = bwl_wakeup_fd(bell);

    (void)state;
    assert_false(is_readable(fd, 0));
    bwl_loop_wake(&clients[1]->loop); /* no dispatch would ever hear that */
    assert_false(is_readable(fd, 0));
    bwl_loop_wake(&clients[0]->loop);
    assert_true(is_readable(fd, 0));
    dispatch();
    assert_false(is_readable(fd, 0));
}

static void test_bell_that_is_rung_is_heard_by_a_dispatch_and_by_no_driver(void **state)
{
    int fd = bwl_wakeup_fd(bell);

    (void)state;
    bwl_wakeup_raise(bell);
    bwl_wakeup_raise(bell);
    bwl_shard_lock(clients[0]);
    assert_int_equal(bwl_loop_run(&clients[0]->loop, 0, &fault), BWL_OK);
    bwl_shard_unlock(clients[0]);
    assert_true(is_readable(fd, 0));
    dispatch();
    assert_false(is_readable(fd, 0));
}

static void test_bell_is_told_to_by_a_client_unless_its_loop_does_it(void **state)
{
    int fd = bwl_wakeup_fd(bell);

    (void)state;
    bwl_shard_lock(clients[0]);
    clients[0]->loop.dispatchers = 1;
    bwl_loop_notify_caller(&clients[0]->loop);
    assert_false(is_readable(fd, 0));
    clients[0]->loop.is_running = true; /* it waits inside of dispatch: then the reactor wakes it */
    bwl_loop_notify_caller(&clients[0]->loop);
    assert_true(is_readable(clients[0]->host.reactor.wake_fd, 0));
    clients[0]->loop.dispatchers = 0;
    clients[0]->loop.is_running  = false;
    bwl_shard_unlock(clients[0]);
    dispatch();
    bwl_shard_lock(clients[0]);
    bwl_loop_notify_caller(&clients[0]->loop);
    assert_false(is_readable(clients[0]->host.reactor.wake_fd, 0));
    bwl_shard_unlock(clients[0]);
    assert_true(is_readable(fd, 0));
    dispatch();
    bwl_shard_lock(clients[1]); /* which nobody dispatches */
    bwl_loop_notify_caller(&clients[1]->loop);
    bwl_shard_unlock(clients[1]);
    assert_true(is_readable(fd, 0));
}

/* ---- the pipe -------------------------------------------------------------------------------- */

static void test_bell_pipe_has_one_byte_for_whatever_was_rung(void **state)
{
    int  fd = must_have_pipe();
    char bytes[8];

    (void)state;
    for (int i = 0; i < 20; i++) {
        bwl_wakeup_raise(bell);
        bwl_loop_wake(&clients[0]->loop);
        assert_true(is_readable(fd, LONG_MS));
        if (i % 2 == 0)
            assert_int_equal(read(fd, bytes, sizeof bytes), 1);
        dispatch();
    }
    assert_false(is_readable(fd, A_MOMENT_MS));
}

static void test_bell_pipe_that_is_read_is_written_to_after_the_next_dispatch(void **state)
{
    int  fd = must_have_pipe();
    char bytes[8];

    (void)state;
    bwl_wakeup_raise(bell);
    assert_true(is_readable(fd, LONG_MS));
    assert_int_equal(read(fd, bytes, sizeof bytes), 1);
    bwl_wakeup_raise(bell);
    assert_false(is_readable(fd, A_MOMENT_MS));
    bwl_wakeup_dispatch_begins(bell);
    bwl_wakeup_raise(bell); /* while it is dispatched */
    bwl_wakeup_dispatch_ended(bell);
    assert_true(is_readable(fd, LONG_MS));
}

/* A lock waits: its timer is what makes the pipe readable, also when it was set while the thread
 * slept till a later one. */
static void test_bell_pipe_has_a_byte_for_a_timer(void **state)
{
    int       fd = must_have_pipe();
    bwl_timer late, early;

    (void)state;
    late = early = (bwl_timer){ .at = BWL_NEVER };
    bwl_shard_lock(clients[0]);
    assert_true(bwl_timers_reserve(&clients[0]->loop.timers, 3));
    bwl_loop_set_timer(&clients[0]->loop, &late, bwl_shard_now(clients[0]) + 3600 * 1000);
    bwl_shard_unlock(clients[0]);
    assert_false(is_readable(fd, A_MOMENT_MS));
    bwl_shard_lock(clients[0]);
    bwl_loop_set_timer(&clients[0]->loop, &early, bwl_shard_now(clients[0]) + 40);
    bwl_shard_unlock(clients[0]);
    assert_true(is_readable(fd, LONG_MS));
    bwl_shard_lock(clients[0]);
    assert_true(bwl_shard_now(clients[0]) >= early.at);
    bwl_timers_set(&clients[0]->loop.timers, &early, BWL_NEVER);
    bwl_shard_unlock(clients[0]);
    dispatch();
    assert_false(is_readable(fd, A_MOMENT_MS));
    bwl_shard_lock(clients[0]);
    bwl_timers_set(&clients[0]->loop.timers, &late, BWL_NEVER);
    bwl_shard_unlock(clients[0]);
}

static void test_bell_pipe_that_cannot_be_made_is_asked_for_again(void **state)
{
    struct rlimit before, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none          = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int         status = bwl_wakeup_pipe(bell, &fault);
    bwl_wakeup *second = NULL;
    int         other  = bwl_wakeup_new(&second, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, BWL_STATUS_SYSTEM);
    assert_int_equal(other, BWL_STATUS_SYSTEM);
    assert_null(second);
    (void)must_have_pipe();
}

static void test_bell_thread_leaves_signals_to_the_program(void **state)
{
    sigset_t before, one, pending;

    (void)state;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR1);
    (void)must_have_pipe();
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    assert_int_equal(kill(getpid(), SIGUSR1), 0); /* would end us, were it taken there */
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGUSR1), 1);
    assert_int_equal(sigwaitinfo(&one, NULL), SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

static void test_bell_stops_at_once_whatever_its_thread_does(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        bwl_wakeup *other = NULL;
        assert_int_equal(bwl_wakeup_new(&other, &fault), BWL_OK);
        bwl_shard_lock(clients[1]);
        assert_int_equal(bwl_loop_attach_wakeup(&clients[1]->loop, other, &fault), BWL_OK);
        bwl_shard_unlock(clients[1]);
        int fd = bwl_wakeup_pipe(other, &fault);
        if (i % 3 != 0)
            bwl_wakeup_raise(other);
        if (i % 3 == 1)
            assert_true(is_readable(fd, LONG_MS));
        bwl_wakeup_stop(other);
        bwl_wakeup_free(other);
    }
    bwl_wakeup_free(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, hang, take_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_bell_descriptor_shows_what_its_client_has_and_no_other),
        CASE(test_bell_that_is_rung_is_heard_by_a_dispatch_and_by_no_driver),
        CASE(test_bell_is_told_to_by_a_client_unless_its_loop_does_it),
        CASE(test_bell_pipe_has_one_byte_for_whatever_was_rung),
        CASE(test_bell_pipe_that_is_read_is_written_to_after_the_next_dispatch),
        CASE(test_bell_pipe_has_a_byte_for_a_timer),
        CASE(test_bell_pipe_that_cannot_be_made_is_asked_for_again),
        CASE(test_bell_thread_leaves_signals_to_the_program),
        CASE(test_bell_stops_at_once_whatever_its_thread_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
