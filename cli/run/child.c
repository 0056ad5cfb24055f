/*
 * child.c -- fork, exec and wait.
 *
 * fork(2) copies the page tables of bowline, and exec throws the copy away: a large part of the
 * cost of a short job. vfork(2) copies nothing, but bowline sleeps until the command has started,
 * however long a slow disk takes. So vfork is used only if no lease must be renewed meanwhile, and
 * if the command does not get the terminal at once (a key that stops the command at that moment
 * would stop bowline too).
 *
 * Signals go to the process group by its number, also after the command itself has ended. The
 * kernel does not reuse the number while the group has a member, and bowline stops using it when
 * the group is empty.
 */
#include "cli/run/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tcsetpgrp(3). Bowline blocks TTOU, so it may call this from the background. */

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

/* Returns 0, or the errno that execve(2) would give as far as stat(2) can tell. */
static int check_file(const char *path)
{
    struct stat is;

    if (stat(path, &is) < 0)
        return errno;
    if (!S_ISREG(is.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
        return EACCES;
    return 0;
}

/* Searches like execvp(3): the first executable file counts; EACCES of another is kept. */
static int search_path(const char *name)
{
    const char *path   = getenv("PATH");
    int         result = ENOENT;

    if (path == NULL)
        path = "/bin:/usr/bin";
    for (;;) {
        size_t size = strcspn(path, ":");
        char   candidate[4096 + 256];
        int    wrote = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)size, path,
                             size > 0 ? "/" : "", name);
        if (wrote > 0 && (size_t)wrote < sizeof candidate) {
            int error = check_file(candidate);
            if (error == 0)
                return 0;
            if (error == EACCES)
                result = EACCES;
        }
        if (path[size] == '\0')
            return result;
        path += size + 1;
    }
}

failure child_failure(char **command, int error)
{
    const char *name = command[0];
    failure is = { .code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN };

    is.what = words_of("%s cannot be run", name);
    is.why  = words_of("%s", strerror(error));
    is.hint = words_of("type: ls -l %s", name);
    if (is.code == EXIT_NOT_FOUND && name[0] == '-') {
        is.why  = words_of("options of bowline stand before the name of the lock");
        is.hint = words_of("type: bowline run %s ... NAME COMMAND", name);
    } else if (is.code == EXIT_NOT_FOUND && strchr(name, '/') == NULL) {
        is.why  = words_of("PATH has no such command");
        is.hint = words_of("type: command -v %s", name);
    } else if (error == ENOENT && check_file(name) == 0) {
        is.why  = words_of("the interpreter in its first line (#!) does not exist");
        is.hint = words_of("type: head -n 1 %s", name);
    } else if (error == EACCES) {
        is.why = words_of("it is not an executable file, or this user may not execute it");
    }
    return is;
}

int child_find(char **command, failure *reterr)
{
    const char *name  = command[0];
    int         error = 0;

    if (name[0] == '\0')
        error = ENOENT;
    else
        error = strchr(name, '/') != NULL ? check_file(name) : search_path(name);
    return error == 0 ? 0 : failed_with(reterr, child_failure(command, error));
}

/* The new process reports here why exec failed. */
typedef struct report {
    int          fds[2]; /* after fork: a pipe that exec closes */
    volatile int error;  /* after vfork: shared memory */
} report;

/* `t` is NULL if the command does not get the terminal at once. After vfork(2) this runs in the
 * memory of bowline and must change nothing but the report. */
_Noreturn static void become(const child_plan *plan, terminal *t, pid_t parent, report *why_not)
{
    /* (void), here and below: the command can run without it. */
    (void)setpgid(0, 0);
    if (t != NULL)
        terminal_lend(t, getpid());
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* Bowline may have died before the prctl. */
    if (getppid() != parent)
        _exit(EXIT_SIGNAL + SIGTERM);
    for (int i = 0; i < plan->fds_count; i++)
        (void)fcntl(plan->fds[i], F_SETFD, 0);
    signals_give_back(plan->signals);
    (void)execvp(plan->command[0], plan->command);
    int error      = errno;
    why_not->error = error;
    if (why_not->fds[1] >= 0)
        (void)!write(why_not->fds[1], &error, sizeof error);
    _exit(EXIT_NOT_FOUND);
}

static int start_failed(const child_plan *plan, const char *what, failure *reterr)
{
    return failed_with(reterr, (failure){
                                   .code = EXIT_FAILED,
                                   .what = words_of("%s was not started", plan->command[0]),
                                   .why  = words_of("%s: %s", what, strerror(errno)),
                                   .hint = words_of("type: ulimit -a"),
                               });
}

static bool has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int child_start(child *ret_child, const child_plan *plan, terminal *t, failure *reterr)
{
    report why_not = { .fds = { -1, -1 } };
    pid_t  parent  = getpid();
    bool   lends   = t->wanted && terminal_is_ours(t);
    bool   waits   = plan->may_wait && !lends;
    bool   elder   = has_children();
    pid_t  pid;

    /* Orphans of the command become children of bowline, so bowline sees when the group is empty,
     * even without an init that reaps orphans. (void): it works without, less exactly. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!waits && pipe2(why_not.fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return start_failed(plan, "pipe", reterr);
    pid = waits ? vfork() : fork();
    if (pid == 0)
        become(plan, lends ? t : NULL, parent, &why_not);
    if (pid < 0) {
        (void)start_failed(plan, "fork", reterr);
        if (why_not.fds[0] >= 0) {
            (void)close(why_not.fds[0]);
            (void)close(why_not.fds[1]);
        }
        return -1;
    }
    *ret_child = (child){ .pid          = pid,
                          .exec_fd      = why_not.fds[0],
                          .exec_error   = why_not.error,
                          .is_new       = true,
                          .is_running   = true,
                          .had_children = elder };
    if (waits)
        return 0;
    /* Parent and child both call setpgid, because either may run first. This call fails after
     * exec. */
    (void)setpgid(pid, pid);
    (void)close(why_not.fds[1]);
    t->lent = lends ? pid : 0;
    return 0;
}

bool child_has_begun(child *c)
{
    int error = 0;

    if (!c->is_new)
        return false;
    if (c->exec_fd >= 0) {
        ssize_t got = read(c->exec_fd, &error, sizeof error);
        if (got < 0)
            return false;
        if (got == (ssize_t)sizeof error)
            c->exec_error = error;
        (void)close(c->exec_fd);
        c->exec_fd = -1;
    }
    c->is_new = false;
    return true;
}

/* The state of the command itself. */
static void take(child *c, const siginfo_t *info)
{
    c->stopped_by = 0;
    if (info->si_code == CLD_STOPPED) {
        c->stopped_by = info->si_status;
    } else if (info->si_code == CLD_EXITED) {
        c->is_running = false;
        c->code       = info->si_status;
    } else if (info->si_code != CLD_CONTINUED) {
        c->is_running = false;
        c->killed_by  = info->si_status;
    }
}

bool child_poll(child *c)
{
    bool has_changed = false;

    for (;;) {
        siginfo_t info = { .si_pid = 0 };
        if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG) < 0 ||
            info.si_pid == 0) {
            if (!c->is_running && kill(-c->pid, 0) < 0 && errno == ESRCH)
                c->group_is_over = true;
            return has_changed;
        }
        /* The others are orphans that bowline has inherited. */
        if (info.si_pid != c->pid)
            continue;
        take(c, &info);
        has_changed = true;
    }
}

int child_signal(const child *c, int number)
{
    int error = 0;

    assert(c->pid > 1);
    if (!c->group_is_over && kill(-c->pid, number) < 0 && errno == EPERM)
        error = errno;
    /* The pid is not reused until bowline has waited for it. */
    if (c->is_running && getpgid(c->pid) != c->pid && kill(c->pid, number) < 0 && errno == EPERM)
        error = errno;
    return error;
}
