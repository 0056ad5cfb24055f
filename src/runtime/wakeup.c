/*
 * wakeup.c -- see wakeup.h.
 */
#include "runtime/wakeup.h"
#include "base/calls.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct bwl_wakeup {
    int             outer_fd; /* an epoll descriptor with all sources of the event loop */
    int             raised_fd;
    int             timer_fd;
    const void     *loop;    /* the attached one; NULL: none */
    pthread_mutex_t mutex;   /* guards what follows */
    bwl_ms          set_for; /* when timer_fd expires; BWL_NEVER: not set */
    int             pipe[2]; /* to read, to write; -1: there is no thread */
    pthread_t       thread;
    pthread_cond_t  dispatched;
    bool            byte_written; /* and no dispatch since */
    bool            stops;
};

/* ---- new and free ---------------------------------------------------------------------------- */

static bool add(const bwl_wakeup *wakeup, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    return fd >= 0 && epoll_ctl(wakeup->outer_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

int bwl_wakeup_new(bwl_wakeup **ret_wakeup, bwl_fault *fault)
{
    bwl_wakeup *wakeup = calloc(1, sizeof *wakeup);

    if (wakeup == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    (void)pthread_mutex_init(&wakeup->mutex, NULL);     /* of the default kind: cannot fail */
    (void)pthread_cond_init(&wakeup->dispatched, NULL); /* of the default kind: cannot fail */
    wakeup->set_for = BWL_NEVER;
    wakeup->pipe[0] = wakeup->pipe[1] = wakeup->raised_fd = wakeup->timer_fd = -1;
    wakeup->outer_fd = epoll_create1(EPOLL_CLOEXEC);
    if (wakeup->outer_fd >= 0)
        wakeup->raised_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakeup->raised_fd >= 0)
        wakeup->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (!add(wakeup, wakeup->raised_fd) || !add(wakeup, wakeup->timer_fd)) {
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
        (void)close(*fd); /* it holds no data */
    *fd = -1;
}

static void close_pipe(bwl_wakeup *wakeup)
{
    close_one(&wakeup->pipe[0]);
    close_one(&wakeup->pipe[1]);
}

void bwl_wakeup_free(bwl_wakeup *wakeup)
{
    if (wakeup == NULL)
        return;
    close_pipe(wakeup);
    close_one(&wakeup->outer_fd);
    close_one(&wakeup->raised_fd);
    close_one(&wakeup->timer_fd);
    free(wakeup); /* mutex and condition need no destroy, and may be in use in a forked child */
}

int bwl_wakeup_attach(bwl_wakeup *wakeup, int epoll_fd, const void *loop, bwl_fault *fault)
{
    assert(wakeup->loop == NULL);
    if (!add(wakeup, epoll_fd))
        return bwl_fail_errno(fault, "cannot watch a descriptor");
    wakeup->loop = loop;
    return BWL_OK;
}

int bwl_wakeup_fd(const bwl_wakeup *wakeup)
{
    return wakeup->outer_fd;
}

/* ---- raising --------------------------------------------------------------------------------- */

void bwl_wakeup_raise(bwl_wakeup *wakeup)
{
    uint64_t one = 1;

    /* Fails otherwise only when it is full, and then it is readable already. */
    while (write(wakeup->raised_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

/* True: it was readable. */
static bool lower(int fd)
{
    uint64_t count;

    return read(fd, &count, sizeof count) == (ssize_t)sizeof count;
}

void bwl_wakeup_set_timer(bwl_wakeup *wakeup, const void *loop, bwl_ms at)
{
    if (loop != wakeup->loop)
        return; /* it has a renewal thread */
    bwl_mutex_lock(&wakeup->mutex);
    if (at < wakeup->set_for) {
        struct itimerspec when = { .it_value = { .tv_sec  = (time_t)(at / 1000),
                                                 .tv_nsec = (long)(at % 1000) * 1000000 } };
        int status             = timerfd_settime(wakeup->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
        assert(status == 0); /* the descriptor and the time are valid */
        (void)status;
        wakeup->set_for = at;
    }
    bwl_mutex_unlock(&wakeup->mutex);
}

void bwl_wakeup_dispatch_begins(bwl_wakeup *wakeup)
{
    (void)lower(wakeup->raised_fd);
    bwl_mutex_lock(&wakeup->mutex);
    if (lower(wakeup->timer_fd))
        wakeup->set_for = BWL_NEVER;
    bwl_mutex_unlock(&wakeup->mutex);
}

/* Discards a byte that was written meanwhile: its reason is still due, and the thread writes
 * another, or it was dispatched. */
void bwl_wakeup_dispatch_ended(bwl_wakeup *wakeup)
{
    char byte;

    bwl_mutex_lock(&wakeup->mutex);
    if (wakeup->byte_written) {
        ssize_t got = read(wakeup->pipe[0], &byte, 1);
        (void)got; /* empty: the caller's event loop has read it */
        wakeup->byte_written = false;
        pthread_cond_signal(&wakeup->dispatched);
    }
    bwl_mutex_unlock(&wakeup->mutex);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *pass_on(void *arg)
{
    bwl_wakeup   *wakeup = arg;
    struct pollfd polled = { .fd = wakeup->outer_fd, .events = POLLIN };

    bwl_mutex_lock(&wakeup->mutex);
    while (!wakeup->stops) {
        if (wakeup->byte_written) {
            (void)pthread_cond_wait(&wakeup->dispatched, &wakeup->mutex);
            continue;
        }
        bwl_mutex_unlock(&wakeup->mutex);
        int count = poll(&polled, 1, -1);
        bwl_mutex_lock(&wakeup->mutex);
        if (count > 0 && !wakeup->stops) {
            wakeup->byte_written = true;
            while (write(wakeup->pipe[1], "!", 1) < 0 && errno == EINTR)
                continue; /* fails otherwise only when it is full, and so readable already */
        }
    }
    bwl_mutex_unlock(&wakeup->mutex);
    return NULL;
}

int bwl_wakeup_pipe(bwl_wakeup *wakeup, bwl_fault *fault)
{
    int status = BWL_OK;

    bwl_mutex_lock(&wakeup->mutex);
    if (wakeup->pipe[0] < 0) {
        if (pipe2(wakeup->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
            status = bwl_fail_errno(fault, "cannot make a pipe");
        else if (bwl_thread_start(&wakeup->thread, pass_on, wakeup) < 0)
            status = bwl_fail_errno(fault, "cannot start the thread that writes to the pipe");
        if (status < 0)
            close_pipe(wakeup);
    }
    int fd = wakeup->pipe[0];
    bwl_mutex_unlock(&wakeup->mutex);
    return status < 0 ? status : fd;
}

void bwl_wakeup_stop(bwl_wakeup *wakeup)
{
    bwl_mutex_lock(&wakeup->mutex);
    bool runs     = wakeup->pipe[0] >= 0;
    wakeup->stops = true;
    if (runs) {
        pthread_cond_signal(&wakeup->dispatched);
        bwl_wakeup_raise(wakeup);
    }
    bwl_mutex_unlock(&wakeup->mutex);
    if (runs)
        (void)pthread_join(wakeup->thread, NULL);
}
