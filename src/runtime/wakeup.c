/*
 * wakeup.c -- see wakeup.h.
 */
#include "runtime/wakeup.h"
#include "base/clock.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* poll counts in int; a longer wait simply starts again. */
enum { WAIT_MAX_MS = 60 * 60 * 1000 };

struct bwl_bell {
    int             outer_fd;
    int             rung_fd;
    bwl_client     *client;  /* whose loop it is                                                 */
    pthread_mutex_t mutex;   /* for all that follows                                             */
    int             pipe[2]; /* to read, to write; -1: there is no thread                        */
    int             poke_fd; /* what the thread waits for may have changed                      */
    pthread_t       thread;
    pthread_cond_t  dispatched;
    bool            told;         /* a byte was written, and nobody has dispatched since        */
    bwl_ms          sleeps_until; /* 0: the thread does not sleep, and will look by itself      */
    bool            stops;
};

static void lock(bwl_bell *bell)
{
    int error = pthread_mutex_lock(&bell->mutex);
    assert(error == 0);
    (void)error;
}

static void unlock(bwl_bell *bell)
{
    int error = pthread_mutex_unlock(&bell->mutex);
    assert(error == 0);
    (void)error;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int bwl_bell_new(bwl_bell **ret_bell, bwl_fault *fault)
{
    struct epoll_event event = { .events = EPOLLIN };
    bwl_bell          *bell  = calloc(1, sizeof *bell);

    if (bell == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    (void)pthread_mutex_init(&bell->mutex, NULL);     /* of the default kind: cannot fail */
    (void)pthread_cond_init(&bell->dispatched, NULL); /* likewise */
    bell->pipe[0] = bell->pipe[1] = bell->poke_fd = -1;
    bell->outer_fd                                = epoll_create1(EPOLL_CLOEXEC);
    bell->rung_fd                                 = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell->outer_fd < 0 || bell->rung_fd < 0 ||
        epoll_ctl(bell->outer_fd, EPOLL_CTL_ADD, bell->rung_fd, &event) != 0) {
        int status = bwl_fail_errno(fault, "cannot make a descriptor for an event loop");
        bwl_bell_free(bell);
        return status;
    }
    *ret_bell = bell;
    return BWL_OK;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nothing is lost with it */
    *fd = -1;
}

static void close_pipe(bwl_bell *bell)
{
    close_one(&bell->pipe[0]);
    close_one(&bell->pipe[1]);
    close_one(&bell->poke_fd);
}

void bwl_bell_free(bwl_bell *bell)
{
    if (bell == NULL)
        return;
    close_pipe(bell);
    close_one(&bell->outer_fd);
    close_one(&bell->rung_fd);
    free(bell); /* mutex and condition hold nothing, and in a forked child may not be free */
}

int bwl_bell_watch(bwl_bell *bell, bwl_client *client, bwl_fault *fault)
{
    struct epoll_event event  = { .events = EPOLLIN };
    int                status = bwl_client_fd(client, fault);

    assert(bell->client == NULL);
    if (status < 0)
        return status;
    if (epoll_ctl(bell->outer_fd, EPOLL_CTL_ADD, status, &event) != 0)
        return bwl_fail_errno(fault, "cannot watch a descriptor");
    bell->client = client;
    client->bell = bell;
    return BWL_OK;
}

int bwl_bell_fd(const bwl_bell *bell)
{
    return bell->outer_fd;
}

/* ---- ringing --------------------------------------------------------------------------------- */

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

void bwl_bell_ring(bwl_bell *bell)
{
    raise_it(bell->rung_fd);
}

void bwl_bell_alarm(bwl_bell *bell, const bwl_client *client, bwl_ms at)
{
    if (client != bell->client)
        return; /* it has a keeper */
    lock(bell);
    if (at < bell->sleeps_until) {
        bell->sleeps_until = 0;
        raise_it(bell->poke_fd);
    }
    unlock(bell);
}

void bwl_bell_heard(bwl_bell *bell)
{
    lower_it(bell->rung_fd);
}

/* A byte that was written meanwhile goes too: what it was for is due still, and then the thread
 * writes another, or was dispatched. */
void bwl_bell_again(bwl_bell *bell)
{
    char byte;

    lock(bell);
    if (bell->told) {
        ssize_t got = read(bell->pipe[0], &byte, 1);
        (void)got; /* nothing there: the caller's runtime has read it */
        bell->told = false;
        pthread_cond_signal(&bell->dispatched);
    }
    unlock(bell);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* A client that somebody drives, or keeps, needs nobody for its timers. */
static bwl_ms next_of(bwl_client *client)
{
    bwl_client_lock(client);
    bool   is_alone = !client->driving && client->keeper == NULL;
    bwl_ms at       = is_alone ? bwl_client_next_at(client) : BWL_NEVER;
    bwl_client_unlock(client);
    return at;
}

/* locked (the bell): sleeps, unlocked, until something is due, or may be.  True: it is. */
static bool await_work(bwl_bell *bell)
{
    struct pollfd polled[2] = {
        { .fd = bell->outer_fd, .events = POLLIN },
        { .fd = bell->poke_fd, .events = POLLIN },
    };

    bell->sleeps_until = BWL_NEVER; /* a timer that is set while we look makes us look again */
    unlock(bell);
    bwl_ms at      = next_of(bell->client);
    bwl_ms wait_ms = at == BWL_NEVER ? WAIT_MAX_MS : at - bwl_clock_now();
    lock(bell);
    if (bell->sleeps_until != 0)
        bell->sleeps_until = at;
    unlock(bell);
    (void)poll(polled, 2, (int)bwl_sooner(wait_ms > 0 ? wait_ms : 0, WAIT_MAX_MS));
    lock(bell);
    bell->sleeps_until = 0;
    lower_it(bell->poke_fd);
    return (polled[0].revents & POLLIN) != 0 || bwl_clock_now() >= at;
}

static void *pass_on(void *arg)
{
    bwl_bell *bell = arg;

    lock(bell);
    while (!bell->stops) {
        if (bell->told) {
            (void)pthread_cond_wait(&bell->dispatched, &bell->mutex);
        } else if (await_work(bell) && !bell->stops) {
            bell->told = true;
            while (write(bell->pipe[1], "!", 1) < 0 && errno == EINTR)
                continue; /* fails otherwise only when it is full, and so readable already */
        }
    }
    unlock(bell);
    return NULL;
}

static int start(bwl_bell *bell, bwl_fault *fault)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&bell->thread, NULL, pass_on, bell);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        return BWL_OK;
    errno = error;
    return bwl_fail_errno(fault, "cannot start the thread that writes to the pipe");
}

int bwl_bell_pipe(bwl_bell *bell, bwl_fault *fault)
{
    int status = BWL_OK;

    lock(bell);
    if (bell->pipe[0] < 0) {
        bell->poke_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (bell->poke_fd < 0 || pipe2(bell->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
            status = bwl_fail_errno(fault, "cannot make a pipe");
        else
            status = start(bell, fault);
        if (status < 0)
            close_pipe(bell);
    }
    int fd = bell->pipe[0];
    unlock(bell);
    return status < 0 ? status : fd;
}

void bwl_bell_stop(bwl_bell *bell)
{
    lock(bell);
    bool runs   = bell->pipe[0] >= 0;
    bell->stops = true;
    if (runs) {
        pthread_cond_signal(&bell->dispatched);
        raise_it(bell->poke_fd);
    }
    unlock(bell);
    if (runs)
        (void)pthread_join(bell->thread, NULL);
}
