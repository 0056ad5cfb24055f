/*
 * loop.c -- poll(2) with a timerfd on CLOCK_BOOTTIME, because the time-out of poll does not count
 * suspend; signalfd(2), and the rules of credentials(7) for stopping.
 */
#include "cli/run/loop.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

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
    *ret_loop = (loop){
        .client     = client,
        .signal_fd  = signal_fd,
        .timer_fd   = -1,
        .other_fd   = -1,
        .expires_at = INT64_MAX,
    };
}

/* Arms the timer, unless it expires earlier: the loop may turn too often. False: no timer. */
static bool arm(loop *l, int64_t wait_ms)
{
    struct itimerspec at         = { 0 };
    const int64_t     now        = loop_now();
    const int64_t     expires_at = wait_ms == BOWLINE_FOREVER ? INT64_MAX : now + wait_ms;

    if (l->expires_at > now && l->expires_at <= expires_at)
        return true;
    if (l->timer_fd < 0)
        l->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->timer_fd < 0)
        return false;
    if (expires_at != INT64_MAX) {
        at.it_value.tv_sec  = (time_t)(expires_at / 1000);
        at.it_value.tv_nsec = (long)(expires_at % 1000) * 1000000;
    }
    int failed = timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    assert(failed == 0);
    l->expires_at = expires_at;
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

void loop_turn_until(loop *l, int64_t until)
{
    int64_t left_ms = until - loop_now();

    if (until == INT64_MAX)
        loop_turn(l, BOWLINE_FOREVER);
    else
        loop_turn(l, left_ms > 0 ? left_ms : 0);
}

/* ---- signals ----------------------------------------------------------------------------------
 * */

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Linux queues an ignored signal while it is blocked, so an ignored signal stays unblocked. */
static void want(sigset_t *set, int number)
{
    if (!is_ignored(number))
        (void)sigaddset(set,
                        number); /* (void): fails only for invalid numbers, like all sig*set here */
}

static int watch_signals(signals *s, const sigset_t *wanted, failure *reterr)
{
    int fd = signalfd(s->fd, wanted, SFD_CLOEXEC | SFD_NONBLOCK);

    if (fd < 0)
        return failed(reterr, words_of("bowline cannot receive signals"),
                      words_of("signalfd: %s", strerror(errno)), words_of("type: ulimit -n"));
    s->fd = fd;
    return 0;
}

int signals_take(signals *ret_signals, failure *reterr)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
    signals          s         = { .fd = -1 };
    struct sigaction ignore    = { .sa_handler = SIG_IGN };
    struct sigaction usual     = { .sa_handler = SIG_DFL };
    sigset_t         wanted;

    /* (void): these cannot fail with valid numbers and pointers. */
    (void)sigemptyset(&wanted);
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        want(&wanted, numbers[i]);
    (void)sigaddset(&wanted, SIGCHLD);
    /* A closed pipe of a reader must not end bowline while it holds a lock. With SIGCHLD ignored,
     * the exit status of the command would be lost. */
    (void)sigaction(SIGPIPE, &ignore, &s.pipe_before);
    (void)sigaction(SIGCHLD, &usual, &s.child_before);
    if (watch_signals(&s, &wanted, reterr) < 0)
        return -1;
    s.mask = wanted;
    /* Blocked: otherwise taking back the terminal would stop bowline. */
    (void)sigaddset(&s.mask, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &s.mask, &s.mask_before);
    *ret_signals = s;
    return 0;
}

int signals_take_stops(signals *s, failure *reterr)
{
    sigset_t wanted = s->mask;

    want(&wanted, SIGTSTP);
    want(&wanted, SIGCONT);
    s->mask = wanted;
    (void)sigprocmask(SIG_BLOCK, &s->mask, NULL);
    (void)sigdelset(&wanted, SIGTTOU);
    return watch_signals(s, &wanted, reterr);
}

void signals_leave_stops(signals *s)
{
    sigset_t stops, wanted;

    (void)sigemptyset(&stops);
    for (unsigned i = 0; i < 2; i++) {
        int number = i == 0 ? SIGTSTP : SIGCONT;
        (void)sigdelset(&s->mask, number);
        if (sigismember(&s->mask_before, number) == 0)
            (void)sigaddset(&stops, number);
    }
    wanted = s->mask;
    (void)sigdelset(&wanted, SIGTTOU);
    (void)signalfd(s->fd, &wanted, 0); /* (void): it exists, so there is nothing to run out of */
    (void)sigprocmask(SIG_UNBLOCK, &stops, NULL);
}

int signals_next(signals *s, bool *ret_by_terminal)
{
    struct signalfd_siginfo info;

    if (read(s->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    *ret_by_terminal = info.ssi_code == SI_KERNEL;
    return (int)info.ssi_signo;
}

void signals_give_back(const signals *s)
{
    (void)sigaction(SIGPIPE, &s->pipe_before, NULL);
    (void)sigaction(SIGCHLD, &s->child_before, NULL);
    (void)sigprocmask(SIG_SETMASK, &s->mask_before, NULL);
}

static bool is_continued(void)
{
    sigset_t pending;

    (void)sigpending(&pending);
    return sigismember(&pending, SIGCONT) == 1;
}

bool signals_stop(signals *s, int number, bool whole_group)
{
    sigset_t one;

    assert(number == SIGTSTP || number == SIGTTIN || number == SIGTTOU);
    if (is_continued())
        return true;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)kill(whole_group ? 0 : getpid(), number);
    /* The signal is pending. Unblocking it stops bowline; it continues after this line. */
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    (void)sigprocmask(SIG_BLOCK, &s->mask, NULL);
    return is_continued(); /* the CONT is still in the signal descriptor */
}

void signals_die_of_interrupt(bool whole_group)
{
    struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t         one;

    (void)sigaction(SIGINT, &usual, NULL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGINT);
    (void)kill(whole_group ? 0 : getpid(), SIGINT);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}
