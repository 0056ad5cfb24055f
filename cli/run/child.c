/*
 * child.c -- fork, exec and wait.
 *
 * A fork copies what we have mapped, only for exec to throw it away: a good part of what a short
 * job costs.  vfork(2) does not, but we sleep until the command is started, however long a slow
 * disk or file server makes that.  So it is for locks that nothing but we can end, and for commands
 * that do not get the terminal: a lease would not be renewed meanwhile, and a key that stops the
 * command in that moment would stop us with it.
 *
 * The group is signalled by its number also after the command itself was waited for.  The number
 * cannot have come to mean others: it is not given to a new process while the group has a member,
 * and we stop asking when it has none.
 */
#include "cli/run/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- can it be run? -------------------------------------------------------------------------- */

/* 0, or the errno that execve would give, as far as can be seen from outside. */
static int look_at(const char *path)
{
    struct stat is;

    if (stat(path, &is) < 0)
        return errno;
    if (!S_ISREG(is.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
        return EACCES;
    return 0;
}

/* As execvp looks for it: the first that can be run counts; one that cannot is remembered. */
static int look_along_path(const char *name)
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
            int error = look_at(candidate);
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
    } else if (error == ENOENT && look_at(name) == 0) {
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
        error = strchr(name, '/') != NULL ? look_at(name) : look_along_path(name);
    return error == 0 ? 0 : failed_with(reterr, child_failure(command, error));
}

/* ---- starting it ----------------------------------------------------------------------------- */

/* Where the process that is to become the command says why it could not. */
typedef struct report {
    int          fds[2]; /* after a fork: a pipe, closed by exec */
    volatile int error;  /* after a vfork: our own memory        */
} report;

/* `t` is NULL where the command does not get the terminal at once.  After a vfork this runs in our
 * memory: nothing of ours may be changed but the report. */
_Noreturn static void become(const child_plan *plan, terminal *t, pid_t parent, report *why_not)
{
    /* (void), here and below: each of these fails only where the command is none the worse. */
    (void)setpgid(0, 0);
    if (t != NULL)
        terminal_lend(t, getpid());
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* Bowline may have died before that. */
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

static int complain_of_start(const child_plan *plan, const char *what, failure *reterr)
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

    /* What the command leaves behind comes to us, so that its group is empty when all have ended,
     * whether or not there is an init that looks after orphans.  (void): then it is as without. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!waits && pipe2(why_not.fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return complain_of_start(plan, "pipe", reterr);
    pid = waits ? vfork() : fork();
    if (pid == 0)
        become(plan, lends ? t : NULL, parent, &why_not);
    if (pid < 0) {
        (void)complain_of_start(plan, "fork", reterr);
        if (why_not.fds[0] >= 0) {
            (void)close(why_not.fds[0]);
            (void)close(why_not.fds[1]);
        }
        return -1;
    }
    *ret_child = (child){ .pid        = pid,
                          .exec_fd    = why_not.fds[0],
                          .exec_error = why_not.error,
                          .is_new     = true,
                          .is_running = true,
                          .has_elder  = elder };
    if (waits)
        return 0;
    /* Both sides do it, so that it is done whoever comes first; ours may come after the exec. */
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

/* ---- watching it ----------------------------------------------------------------------------- */

/* What waitid says of the command itself. */
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

bool child_look(child *c)
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
        /* The others are orphans of the command that came to us. */
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
    /* Its number is its own until it was waited for. */
    if (c->is_running && getpgid(c->pid) != c->pid && kill(c->pid, number) < 0 && errno == EPERM)
        error = errno;
    return error;
}
