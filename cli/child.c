/*
 * child.c -- fork, exec and wait.
 *
 * The group is signalled by its number also after the command itself was waited for.  The number
 * cannot have come to mean others: it is not given to a new process while the group has a member,
 * and we stop asking when it has none.
 */
#include "child.h"

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

trouble child_trouble(char **command, int error)
{
    const char *name = command[0];
    trouble is = { .code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN };

    is.what = words_of("%s cannot be run", name);
    is.why  = words_of("%s", strerror(error));
    is.type = words_of("type: ls -l %s", name);
    if (is.code == EXIT_NOT_FOUND && name[0] == '-') {
        is.why  = words_of("options of bowline go before the name of the lock");
        is.type = words_of("type: bowline run %s ... NAME COMMAND", name);
    } else if (is.code == EXIT_NOT_FOUND && strchr(name, '/') == NULL) {
        is.why  = words_of("there is no such command in PATH");
        is.type = words_of("type: command -v %s", name);
    } else if (error == ENOENT && look_at(name) == 0) {
        is.why  = words_of("the interpreter in its first line (#!) does not exist");
        is.type = words_of("type: head -n 1 %s", name);
    } else if (error == EACCES) {
        is.why = words_of("it is not an executable file, or not for us");
    }
    return is;
}

int child_find(char **command, trouble *reterr)
{
    const char *name  = command[0];
    int         error = 0;

    if (name[0] == '\0')
        error = ENOENT;
    else
        error = strchr(name, '/') != NULL ? look_at(name) : look_along_path(name);
    return error == 0 ? 0 : trouble_set(reterr, child_trouble(command, error));
}

/* ---- starting it ----------------------------------------------------------------------------- */

/* `t` is NULL where the command does not get the terminal at once. */
_Noreturn static void become(const child_plan *plan, terminal *t, pid_t parent, int exec_fd)
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
    int error = errno;
    (void)!write(exec_fd, &error, sizeof error);
    _exit(EXIT_NOT_FOUND);
}

int child_start(child *ret_child, const child_plan *plan, terminal *t, trouble *reterr)
{
    int   ends[2] = { -1, -1 };
    pid_t parent  = getpid();
    pid_t pid     = -1;
    bool  lends   = t->wanted && terminal_is_ours(t);

    /* What the command leaves behind comes to us, so that its group is empty when all have ended,
     * whether or not there is an init that looks after orphans.  (void): then it is as without. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0)
        pid = fork();
    if (pid == 0)
        become(plan, lends ? t : NULL, parent, ends[1]);
    if (pid < 0) {
        (void)trouble_set(
            reterr, (trouble){
                        .code = EXIT_FAILED,
                        .what = words_of("%s was not started", plan->command[0]),
                        .why  = words_of("%s: %s", ends[0] < 0 ? "pipe" : "fork", strerror(errno)),
                        .type = words_of("type: ulimit -a"),
                    });
        if (ends[0] >= 0) {
            (void)close(ends[0]);
            (void)close(ends[1]);
        }
        return -1;
    }
    /* Both sides do it, so that it is done whoever comes first; ours may come after the exec. */
    (void)setpgid(pid, pid);
    (void)close(ends[1]);
    t->lent    = lends ? pid : 0;
    *ret_child = (child){ .pid = pid, .exec_fd = ends[0], .is_running = true };
    return 0;
}

bool child_has_begun(child *c)
{
    int error = 0;

    if (c->exec_fd < 0)
        return false;
    ssize_t got = read(c->exec_fd, &error, sizeof error);
    if (got < 0)
        return false;
    if (got == (ssize_t)sizeof error)
        c->exec_error = error;
    (void)close(c->exec_fd);
    c->exec_fd = -1;
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
            info.si_pid == 0)
            return has_changed;
        /* The others are orphans of the command that came to us. */
        if (info.si_pid != c->pid)
            continue;
        take(c, &info);
        has_changed = true;
    }
}

void child_signal(const child *c, int number)
{
    assert(c->pid > 1);
    /* (void): a group without members has nobody to tell. */
    (void)kill(-c->pid, number);
}

bool child_group_is_there(const child *c)
{
    assert(c->pid > 1);
    return kill(-c->pid, 0) == 0 || errno == EPERM;
}
