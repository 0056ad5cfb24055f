/*
 * terminal.c -- tcsetpgrp(3). Bowline blocks TTOU, so it may call this from the background.
 */
#include "cli/run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void terminal_open(terminal *ret_terminal)
{
    terminal t = { .fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) };

    if (t.fd >= 0)
        t.wanted = getpgrp() == getpid() && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    *ret_terminal = t;
}

bool terminal_is_ours(const terminal *t)
{
    return t->fd >= 0 && tcgetpgrp(t->fd) == getpgrp();
}

void terminal_lend(terminal *t, pid_t group)
{
    if (tcsetpgrp(t->fd, group) == 0)
        t->lent = group;
}

void terminal_take_back(terminal *t)
{
    if (t->lent == 0)
        return;
    /* A shell in the command may have given the terminal to a job that has ended. */
    pid_t front = tcgetpgrp(t->fd);
    if (front == t->lent || (front > 1 && kill(-front, 0) < 0 && errno == ESRCH))
        /* (void): fails only if the terminal is gone. */
        (void)tcsetpgrp(t->fd, getpgrp());
    t->lent = 0;
}
