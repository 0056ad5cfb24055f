/*
 * loop.c -- poll(2) with a timerfd on CLOCK_BOOTTIME, which poll's own time-out is not.
 */
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int64_t loop_now(void)
{
    struct timespec now;
    int             failed = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(failed == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int loop_open(loop *ret_loop, int signal_fd, trouble *reterr)
{
    int timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

    if (timer_fd < 0)
        return trouble_set(reterr, (trouble){
                                       .code = EXIT_FAILED,
                                       .what = words_of("there is no timer for bowline"),
                                       .why  = words_of("timerfd_create: %s", strerror(errno)),
                                       .type = words_of("type: ulimit -n"),
                                   });
    *ret_loop = (loop){ .signal_fd = signal_fd, .timer_fd = timer_fd, .other_fd = -1 };
    return 0;
}

/* Arms the timer; FOREVER disarms it.  Arming clears what an earlier one left to read. */
static void arm(const loop *l, int64_t wait_ms)
{
    struct itimerspec at = { 0 };

    if (wait_ms > 0) {
        at.it_value.tv_sec  = (time_t)(wait_ms / 1000);
        at.it_value.tv_nsec = (long)(wait_ms % 1000) * 1000000;
    }
    int failed = timerfd_settime(l->timer_fd, 0, &at, NULL);
    assert(failed == 0);
}

static int64_t sooner(int64_t a, int64_t b)
{
    if (a == BOWLINE_FOREVER || b == BOWLINE_FOREVER)
        return a == BOWLINE_FOREVER ? b : a;
    return a < b ? a : b;
}

void loop_turn(loop *l, int64_t wait_ms)
{
    int client_fd = -1;

    if (l->client != NULL) {
        wait_ms   = sooner(wait_ms, bowline_timeout_ms(l->client));
        client_fd = bowline_fd(l->client);
    }
    struct pollfd fds[] = {
        { .fd = l->signal_fd, .events = POLLIN },
        { .fd = l->timer_fd, .events = POLLIN },
        { .fd = client_fd, .events = POLLIN },
        { .fd = l->other_fd, .events = POLLIN },
    };
    if (wait_ms != 0)
        arm(l, wait_ms);
    /* (void): EINTR or an end of waiting, both are looked at by the caller. */
    (void)poll(fds, sizeof fds / sizeof fds[0], wait_ms == 0 ? 0 : -1);
    if (l->client != NULL && bowline_dispatch(l->client, 0, NULL) < 0) {
        /* What it could not do, it will not do sooner for being asked at once again. */
        (void)poll(NULL, 0, 10);
    }
}
