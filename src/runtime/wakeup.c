#include "runtime/wakeup.h"
#include "base/clock.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* poll counts in int; a longer wait simply starts again. */
enum { WAIT_MAX_MS = 60 * 60 * 1000 };

struct bwl_wakeup {
    int             outer_fd;
    int             raised_fd;
    bwl_wakeup_due *due;     /* of the attached loop */
    void           *loop;    /* NULL: none is attached */
    pthread_mutex_t mutex;   /* for all that follows                                             */
    int             pipe[2]; /* to read, to write; -1: there is no thread                        */
    int            recheck_fd; /* what the thread waits for may have changed                      */
    pthread_t      thread;
    pthread_cond_t dispatched;
    bool           byte_written; /* and nothing was dispatched since */
    bwl_ms         sleeps_until; /* 0: the thread does not sleep, and will look by itself      */
    bool           stops;
};

static void lock(bwl_wakeup *wakeup)
{
    int error = pthread_mutex_lock(&wakeup->mutex);
    assert(error == 0);
    (void)error;
}

static void unlock(bwl_wakeup *wakeup)
{
    int error = pthread_mutex_unlock(&wakeup->mutex);
    assert(error == 0);
    (void)error;
}

int bwl_wakeup_new(bwl_wakeup **ret_wakeup, bwl_fault *fault)
{
    struct epoll_event event  = { .events = EPOLLIN };
    bwl_wakeup        *wakeup = calloc(1, sizeof *wakeup);

    if (wakeup == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    (void)pthread_mutex_init(&wakeup->mutex, NULL);     /* of the default kind: cannot fail */
    (void)pthread_cond_init(&wakeup->dispatched, NULL); /* likewise */
    wakeup->pipe[0] = wakeup->pipe[1] = wakeup->recheck_fd = -1;
    wakeup->outer_fd                                       = epoll_create1(EPOLL_CLOEXEC);
    wakeup->raised_fd                                      = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakeup->outer_fd < 0 || wakeup->raised_fd < 0 ||
        epoll_ctl(wakeup->outer_fd, EPOLL_CTL_ADD, wakeup->raised_fd, &event) != 0) {
        int status = bwl_fail_errno(fault, "cannot make a descriptor for an event loop");
        bwl_wakeup_free(wakeup);
        return status;
    }
    *ret_wakeup = wakeup;
    return BWL_OK;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nothing is lost with it */
    *fd = -1;
}

static void close_pipe(bwl_wakeup *wakeup)
{
    close_one(&wakeup->pipe[0]);
    close_one(&wakeup->pipe[1]);
    close_one(&wakeup->recheck_fd);
}

void bwl_wakeup_free(bwl_wakeup *wakeup)
{
    if (wakeup == NULL)
        return;
    close_pipe(wakeup);
    close_one(&wakeup->outer_fd);
    close_one(&wakeup->raised_fd);
    free(wakeup); /* mutex and condition hold nothing, and in a forked child may not be free */
}

int bwl_wakeup_attach(bwl_wakeup *wakeup, int epoll_fd, bwl_wakeup_due *due, void *loop,
                      bwl_fault *fault)
{
    struct epoll_event event = { .events = EPOLLIN };

    assert(wakeup->loop == NULL);
    if (epoll_ctl(wakeup->outer_fd, EPOLL_CTL_ADD, epoll_fd, &event) != 0)
        return bwl_fail_errno(fault, "cannot watch a descriptor");
    wakeup->due  = due;
    wakeup->loop = loop;
    return BWL_OK;
}

int bwl_wakeup_fd(const bwl_wakeup *wakeup)
{
    return wakeup->outer_fd;
}

static void raise_it(int event_fd)
{
    uint64_t one = 1;

    /* Fails otherwise only when it is full, and then it is readable already. */
    while (write(event_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

static void lower_it(int event_fd)
{
    uint64_t count;

    ssize_t got = read(event_fd, &count, sizeof count);
    (void)got; /* nothing there: it was not raised */
}

void bwl_wakeup_raise(bwl_wakeup *wakeup)
{
    raise_it(wakeup->raised_fd);
}

void bwl_wakeup_set_timer(bwl_wakeup *wakeup, const void *loop, bwl_ms at)
{
    if (loop != wakeup->loop)
        return; /* it has a renewal thread */
    lock(wakeup);
    if (at < wakeup->sleeps_until) {
        wakeup->sleeps_until = 0;
        raise_it(wakeup->recheck_fd);
    }
    unlock(wakeup);
}

void bwl_wakeup_dispatch_begins(bwl_wakeup *wakeup)
{
    lower_it(wakeup->raised_fd);
}

/* A byte that was written meanwhile goes too: what it was for is due still, and then the thread
 * writes another, or was dispatched. */
void bwl_wakeup_dispatch_ended(bwl_wakeup *wakeup)
{
    char byte;

    lock(wakeup);
    if (wakeup->byte_written) {
        ssize_t got = read(wakeup->pipe[0], &byte, 1);
        (void)got; /* nothing there: the caller's runtime has read it */
        wakeup->byte_written = false;
        pthread_cond_signal(&wakeup->dispatched);
    }
    unlock(wakeup);
}

/* Locked by `wakeup`: sleeps, unlocked, until something is due or may be.  True: it is. */
static bool await_work(bwl_wakeup *wakeup)
{
    struct pollfd polled[2] = {
        { .fd = wakeup->outer_fd, .events = POLLIN },
        { .fd = wakeup->recheck_fd, .events = POLLIN },
    };

    wakeup->sleeps_until = BWL_NEVER; /* a timer that is set while we look makes us look again */
    unlock(wakeup);
    bwl_ms at      = wakeup->due(wakeup->loop);
    bwl_ms wait_ms = at == BWL_NEVER ? WAIT_MAX_MS : at - bwl_clock_now();
    lock(wakeup);
    if (wakeup->sleeps_until != 0)
        wakeup->sleeps_until = at;
    unlock(wakeup);
    (void)poll(polled, 2, (int)bwl_sooner(wait_ms > 0 ? wait_ms : 0, WAIT_MAX_MS));
    lock(wakeup);
    wakeup->sleeps_until = 0;
    lower_it(wakeup->recheck_fd);
    return (polled[0].revents & POLLIN) != 0 || bwl_clock_now() >= at;
}

static void *pass_on(void *arg)
{
    bwl_wakeup *wakeup = arg;

    lock(wakeup);
    while (!wakeup->stops) {
        if (wakeup->byte_written) {
            (void)pthread_cond_wait(&wakeup->dispatched, &wakeup->mutex);
        } else if (await_work(wakeup) && !wakeup->stops) {
            wakeup->byte_written = true;
            while (write(wakeup->pipe[1], "!", 1) < 0 && errno == EINTR)
                continue; /* fails otherwise only when it is full, and so readable already */
        }
    }
    unlock(wakeup);
    return NULL;
}

static int start(bwl_wakeup *wakeup, bwl_fault *fault)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&wakeup->thread, NULL, pass_on, wakeup);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        return BWL_OK;
    errno = error;
    return bwl_fail_errno(fault, "cannot start the thread that writes to the pipe");
}

int bwl_wakeup_pipe(bwl_wakeup *wakeup, bwl_fault *fault)
{
    int status = BWL_OK;

    lock(wakeup);
    if (wakeup->pipe[0] < 0) {
        wakeup->recheck_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (wakeup->recheck_fd < 0 || pipe2(wakeup->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
            status = bwl_fail_errno(fault, "cannot make a pipe");
        else
            status = start(wakeup, fault);
        if (status < 0)
            close_pipe(wakeup);
    }
    int fd = wakeup->pipe[0];
    unlock(wakeup);
    return status < 0 ? status : fd;
}

void bwl_wakeup_stop(bwl_wakeup *wakeup)
{
    lock(wakeup);
    bool runs     = wakeup->pipe[0] >= 0;
    wakeup->stops = true;
    if (runs) {
        pthread_cond_signal(&wakeup->dispatched);
        raise_it(wakeup->recheck_fd);
    }
    unlock(wakeup);
    if (runs)
        (void)pthread_join(wakeup->thread, NULL);
}
