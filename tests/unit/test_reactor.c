/*
 * test_reactor.c -- waiting for descriptors, and wakeups.
 *
 * Pipes and socket pairs make the events; a second thread only runs in tests about threads.  The
 * main case: a wakeup while no thread waits must not be lost, and must not arrive twice.
 */
#include "base/clock.h"
#include "net/reactor.h"
#include "tests/lib/suite.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static bwl_reactor reactor;
static bwl_fault   fault;
static bwl_ready   ready[BWL_READY_MAX];
static int         ends[2]; /* of a pipe: 0 reads, 1 writes */

static int open_reactor(void **state)
{
    reactor = (bwl_reactor)BWL_REACTOR_CLOSED;
    assert_int_equal(bwl_reactor_open(&reactor, &fault), BWL_OK);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    return 0;
}

static int close_reactor(void **state)
{
    bwl_reactor_close(&reactor);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

FIXTURE(open_reactor, close_reactor)

TEST(reactor_opens_once_and_closes_twice)
{
    int epoll_fd = reactor.epoll_fd;

    assert_int_equal(bwl_reactor_open(&reactor, &fault), BWL_OK);
    assert_int_equal(reactor.epoll_fd, epoll_fd);
    bwl_reactor_close(&reactor);
    assert_int_equal(reactor.epoll_fd, -1);
    assert_int_equal(reactor.wake_fd, -1);
    bwl_reactor_close(&reactor);
    assert_int_equal(fcntl(epoll_fd, F_GETFD), -1);
}

TEST(reactor_descriptors_are_closed_on_exec)
{
    assert_int_equal(fcntl(reactor.epoll_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(reactor.wake_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(reactor_without_descriptors_fails_and_stays_closed)
{
    bwl_reactor   other = BWL_REACTOR_CLOSED;
    struct rlimit before;
    struct rlimit low;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low          = before;
    low.rlim_cur = (rlim_t)ends[1] + 1; /* no descriptor is left, or one for two */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int status = bwl_reactor_open(&other, &fault);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, BWL_STATUS_SYSTEM);
    assert_non_null(strstr(fault.text, "cannot wait for events"));
    assert_int_equal(other.epoll_fd, -1);
    assert_int_equal(other.wake_fd, -1);
}

TEST(reactor_wait_ends_in_time_with_nothing)
{
    bwl_ms before = bwl_clock_now();

    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 0);
    assert_int_equal(bwl_reactor_wait(&reactor, 20, ready), 0);
    assert_true(bwl_clock_now() - before >= 19);
}

TEST(reactor_reports_the_ready_source_and_its_events)
{
    bwl_source reads  = { .fd = ends[0] };
    bwl_source writes = { .fd = ends[1] };

    assert_int_equal(bwl_reactor_watch(&reactor, &reads, EPOLLIN, &fault), BWL_OK);
    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 0);
    assert_int_equal(bwl_reactor_watch(&reactor, &writes, EPOLLOUT, &fault), BWL_OK);
    assert_int_equal(bwl_reactor_wait(&reactor, BWL_NEVER, ready), 1);
    assert_ptr_equal(ready[0].source, &writes);
    assert_int_equal(ready[0].events, EPOLLOUT);
    bwl_reactor_forget(&reactor, &writes);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 1);
    assert_ptr_equal(ready[0].source, &reads);
    assert_int_equal(ready[0].events, EPOLLIN);
}

TEST(reactor_rewatch_changes_the_events)
{
    bwl_source writes = { .fd = ends[1] };

    assert_int_equal(bwl_reactor_watch(&reactor, &writes, EPOLLIN, &fault), BWL_OK);
    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 0);
    assert_int_equal(bwl_reactor_rewatch(&reactor, &writes, EPOLLOUT), BWL_OK);
    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 1);
    bwl_reactor_forget(&reactor, &writes);
    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 0);
    bwl_reactor_forget(&reactor, &writes);
    assert_int_equal(bwl_reactor_rewatch(&reactor, &writes, EPOLLOUT), BWL_STATUS_SYSTEM);
}

TEST(reactor_bad_descriptor_cannot_be_watched)
{
    bwl_source none = { .fd = -1 };

    assert_int_equal(bwl_reactor_watch(&reactor, &none, EPOLLIN, &fault), BWL_STATUS_SYSTEM);
    assert_non_null(strstr(fault.text, "cannot watch a descriptor: "));
}

TEST(reactor_wake_is_kept_for_the_next_wait_and_comes_once)
{
    bwl_reactor_wake(&reactor);
    bwl_reactor_wake(&reactor);
    bwl_reactor_wake(&reactor);
    assert_int_equal(bwl_reactor_wait(&reactor, BWL_NEVER, ready), 1);
    assert_null(ready[0].source);
    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 0);
    bwl_reactor_wake(&reactor);
    assert_int_equal(bwl_reactor_wait(&reactor, BWL_NEVER, ready), 1);
}

TEST(reactor_wake_writes_once)
{
    uint64_t count = 0;

    for (int i = 0; i < 3; i++)
        bwl_reactor_wake(&reactor);
    assert_int_equal(read(reactor.wake_fd, &count, sizeof count), sizeof count);
    assert_int_equal(count, 1);
}

enum { WAKES = 1000000 };

static atomic_int said;

static void *wake_often(void *arg)
{
    for (int i = 1; i <= WAKES; i++) {
        atomic_store(&said, i);
        bwl_reactor_wake(arg);
    }
    return NULL;
}

/* The thread that is woken sees all writes from before the wakeup: it never misses the last. */
TEST(reactor_wake_is_never_lost)
{
    pthread_t thread;
    int       seen = 0;

    atomic_store(&said, 0);
    assert_int_equal(pthread_create(&thread, NULL, wake_often, &reactor), 0);
    while (seen < WAKES) {
        assert_int_equal(bwl_reactor_wait(&reactor, 60000, ready), 1);
        seen = atomic_load(&said);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *wake_later(void *arg)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    bwl_reactor_wake(arg);
    return NULL;
}

TEST(reactor_wake_ends_the_wait_of_another_thread)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, wake_later, &reactor), 0);
    assert_int_equal(bwl_reactor_wait(&reactor, BWL_NEVER, ready), 1);
    assert_null(ready[0].source);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST(reactor_descriptor_can_be_polled)
{
    struct pollfd poll_me = { .fd = reactor.epoll_fd, .events = POLLIN };

    assert_int_equal(poll(&poll_me, 1, 0), 0);
    bwl_reactor_wake(&reactor);
    assert_int_equal(poll(&poll_me, 1, 0), 1);
    assert_int_equal(bwl_reactor_wait(&reactor, 0, ready), 1);
    assert_int_equal(poll(&poll_me, 1, 0), 0);
}
