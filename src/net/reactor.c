#include "net/reactor.h"
#include "base/fault.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* epoll_wait takes an int; a longer wait simply starts again. */
enum { WAIT_MAX_MS = 60 * 60 * 1000 };

int bwl_reactor_open(bwl_reactor *reactor, bwl_fault *fault)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

    if (reactor->epoll_fd >= 0)
        return BWL_OK;
    reactor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    reactor->wake_fd  = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reactor->epoll_fd < 0 || reactor->wake_fd < 0 ||
        epoll_ctl(reactor->epoll_fd, EPOLL_CTL_ADD, reactor->wake_fd, &event) != 0) {
        int status = bwl_fail_errno(fault, "cannot wait for events");
        bwl_reactor_close(reactor);
        return status;
    }
    return BWL_OK;
}

void bwl_reactor_close(bwl_reactor *reactor)
{
    if (reactor->epoll_fd >= 0)
        (void)close(reactor->epoll_fd);
    if (reactor->wake_fd >= 0)
        (void)close(reactor->wake_fd);
    *reactor = (bwl_reactor)BWL_REACTOR_CLOSED;
}

int bwl_reactor_watch(bwl_reactor *reactor, bwl_source *source, uint32_t events, bwl_fault *fault)
{
    struct epoll_event event = { .events = events, .data.ptr = source };

    if (epoll_ctl(reactor->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) != 0)
        return bwl_fail_errno(fault, "cannot watch a descriptor");
    return BWL_OK;
}

void bwl_reactor_rewatch(bwl_reactor *reactor, bwl_source *source, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = source };

    /* Cannot fail for a descriptor that is watched. */
    (void)epoll_ctl(reactor->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

void bwl_reactor_forget(bwl_reactor *reactor, bwl_source *source)
{
    /* Fails only for a descriptor that is not watched, which is the goal. */
    (void)epoll_ctl(reactor->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

void bwl_reactor_wake(bwl_reactor *reactor)
{
    uint64_t one = 1;

    if (atomic_exchange(&reactor->is_woken, true))
        return; /* it is readable, or was just read by a thread that will check everything */
    /* Fails for good only when it is full, and then it is readable already. */
    while (write(reactor->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

static void clear_wake(bwl_reactor *reactor)
{
    uint64_t count;

    ssize_t got = read(reactor->wake_fd, &count, sizeof count);
    (void)got; /* empty: another thread has read it */
    /* After the read: a wake in between does not write, and the thread that reads checks everything
     * next. */
    (void)atomic_exchange(&reactor->is_woken, false);
}

int bwl_reactor_wait(bwl_reactor *reactor, bwl_ms wait_ms, bwl_ready ret_ready[BWL_READY_MAX])
{
    struct epoll_event events[BWL_READY_MAX];
    int                patience = wait_ms < WAIT_MAX_MS ? (int)wait_ms : WAIT_MAX_MS;

    assert(wait_ms >= 0);
    int count = epoll_wait(reactor->epoll_fd, events, BWL_READY_MAX, patience);
    if (count < 0) {
        assert(errno == EINTR); /* other errors mean that epoll_fd is not an epoll descriptor */
        return 0;
    }
    for (int i = 0; i < count; i++) {
        ret_ready[i] = (bwl_ready){ .source = events[i].data.ptr, .events = events[i].events };
        if (ret_ready[i].source == NULL)
            clear_wake(reactor);
    }
    return count;
}
