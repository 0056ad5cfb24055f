/*
 * loop.c -- poll(2) with a timerfd on CLOCK_BOOTTIME, because the time-out of poll does not count
 * suspend.
 */
#include "cli/run/loop.h"

#include <assert.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>

enum {
    WITHOUT_TIMER_MS = 200,
    WITHOUT_FD_MS    = 20, /* poll interval for a client without a descriptor */
};

int64_t loop_now(void)
{
    struct timespec now;
    int             failed = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(failed == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void loop_open(loop *ret_loop, bowline_client *client, int signal_fd)
{
    *ret_loop = (loop){ .client = client, .signal_fd = signal_fd, .timer_fd = -1, .other_fd = -1 };
}

/* Arms the timer, or disarms it with FOREVER. Clears an earlier expiration. False: no timer. */
static bool arm(loop *l, int64_t wait_ms)
{
    struct itimerspec at = { 0 };

    if (l->timer_fd < 0 && wait_ms == BOWLINE_FOREVER)
        return true;
    if (l->timer_fd < 0)
        l->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->timer_fd < 0)
        return false;
    if (wait_ms > 0) {
        at.it_value.tv_sec  = (time_t)(wait_ms / 1000);
        at.it_value.tv_nsec = (long)(wait_ms % 1000) * 1000000;
    }
    int failed = timerfd_settime(l->timer_fd, 0, &at, NULL);
    assert(failed == 0);
    return true;
}

/* The time-out for poll(2). Without a timer it is short, because it does not count suspend. */
static int patience_for(loop *l, int64_t wait_ms)
{
    if (wait_ms == 0)
        return 0;
    if (arm(l, wait_ms))
        return -1;
    return wait_ms < WITHOUT_TIMER_MS ? (int)wait_ms : WITHOUT_TIMER_MS;
}

int64_t loop_earlier(int64_t a, int64_t b)
{
    if (a == BOWLINE_FOREVER || b == BOWLINE_FOREVER)
        return a == BOWLINE_FOREVER ? b : a;
    return a < b ? a : b;
}

void loop_turn(loop *l, int64_t wait_ms)
{
    int client_fd = -1;

    if (l->client != NULL) {
        client_fd = bowline_fd(l->client); /* also readable when a timer is due */
        if (client_fd < 0)
            wait_ms = loop_earlier(wait_ms, WITHOUT_FD_MS);
    }
    int           patience = patience_for(l, wait_ms); /* may open the timer */
    struct pollfd fds[]    = {
           { .fd = l->signal_fd, .events = POLLIN },
           { .fd = l->timer_fd, .events = POLLIN },
           { .fd = client_fd, .events = POLLIN },
           { .fd = l->other_fd, .events = POLLIN },
    };
    /* (void): the caller checks for EINTR and a time-out alike. */
    (void)poll(fds, sizeof fds / sizeof fds[0], patience);
    if (l->client != NULL && bowline_dispatch(l->client, 0, NULL) < 0) {
        /* Do not spin if the client cannot make progress. */
        (void)poll(NULL, 0, 10);
    }
}
