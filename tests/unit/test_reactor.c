/*
 * test_reactor.c -- wakeups: one that comes while no thread waits is not lost, and comes once.
 *
 * test_conn.c and test_conn_tls.c test the events of descriptors.
 */
#include "net/reactor.h"
#include "tests/lib/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

static bwl_reactor reactor;
static bwl_fault   fault;
static bwl_ready   ready[BWL_READY_MAX];

static int open_reactor(void **state)
{
    reactor = (bwl_reactor)BWL_REACTOR_CLOSED;
    assert_int_equal(bwl_reactor_open(&reactor, &fault), BWL_OK);
    return 0;
}

static int close_reactor(void **state)
{
    bwl_reactor_close(&reactor);
    return 0;
}

FIXTURE(open_reactor, close_reactor)

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
    low.rlim_cur = (rlim_t)reactor.wake_fd + 1; /* no descriptor is left, or one for two */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int status = bwl_reactor_open(&other, &fault);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, BWL_STATUS_SYSTEM);
    assert_non_null(strstr(fault.text, "cannot wait for events"));
    assert_int_equal(other.epoll_fd, -1);
    assert_int_equal(other.wake_fd, -1);
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
