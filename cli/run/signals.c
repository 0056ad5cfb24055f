/*
 * signals.c -- see signals.h; signalfd(2), and the rules of credentials(7) for stopping.
 */
#include "cli/run/signals.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

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

static int listen_to(signals *s, const sigset_t *wanted, failure *reterr)
{
    int fd = signalfd(s->fd, wanted, SFD_CLOEXEC | SFD_NONBLOCK);

    if (fd < 0)
        return failed_with(reterr, (failure){
                                       .code = EXIT_FAILED,
                                       .what = words_of("bowline cannot receive signals"),
                                       .why  = words_of("signalfd: %s", strerror(errno)),
                                       .hint = words_of("type: ulimit -n"),
                                   });
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
    if (listen_to(&s, &wanted, reterr) < 0)
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
    return listen_to(s, &wanted, reterr);
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
