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
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
    return failed(reterr, words_of("%s was not started", plan->command[0]),
                  words_of("%s: %s", what, strerror(errno)), words_of("type: ulimit -a"));
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

/* ---- the processes of the command -------------------------------------------------------------
 * */

/* See proc(5), pidfd_open(2).
 *
 * A scan of /proc is no snapshot: processes start, end and change their parent meanwhile.  If the
 * parent of a process ends during a scan, the scan shows no path from that process to bowline; the
 * next scan shows it as a child of bowline.  So a scan that finds nothing is repeated.  That is no
 * proof: a process that only forks and exits can escape any number of scans on a busy machine.  The
 * proof is that bowline has no child, because each descendant of the command has an ancestor that
 * is a child of bowline. (This holds only if bowline had no children before the command.)
 *
 * To catch such a process, KILL also goes to the children of bowline as the kernel lists them
 * (CONFIG_PROC_CHILDREN): a short list, read with one call.
 *
 * A pid from /proc may belong to another process when it is signalled.  So the code opens a pidfd
 * first and compares the start time after that. */

enum {
    LOOKS_MAX   = 64,
    LOOKS_EMPTY = 2, /* scans in a row without a new process */
    DEPTH_MAX   = 4096,
    STAT_MAX    = 1024,
    LIST_MAX    = 4096, /* bytes of a list of children: some hundred processes */
    KNOWN_MAX   = 4096,
};

typedef struct process {
    pid_t              pid;
    pid_t              parent;
    pid_t              group;
    unsigned long long started; /* clock ticks after boot */
    char               state;
    bool               is_counted; /* in this scan */
    char               program[FAMILY_PROGRAM_MAX];
} process;

typedef family_known table;

/* ---- reading /proc --------------------------------------------------------------------------- */

/* "4121 (name) S 4100 4121 ..."; a name may contain brackets and blanks. */
static bool parse(process *ret_process, const char *text)
{
    const char *open  = strchr(text, '(');
    const char *close = strrchr(text, ')');
    process     p     = { .pid = (pid_t)strtol(text, NULL, 10) };
    int         parent, group;

    if (open == NULL || close == NULL || close < open)
        return false;
    (void)snprintf(p.program, sizeof p.program, "%.*s", (int)(close - open - 1), open + 1);
    if (sscanf(close + 1,
               " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &p.state, &parent, &group, &p.started) != 4)
        return false;
    p.parent     = parent;
    p.group      = group;
    *ret_process = p;
    return true;
}

static bool read_process(process *ret_process, const char *pid)
{
    char path[64], text[STAT_MAX];
    int  wrote = snprintf(path, sizeof path, "/proc/%s/stat", pid);

    if (wrote < 0 || (size_t)wrote >= sizeof path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return parse(ret_process, text);
}

static int by_pid(const void *a, const void *b)
{
    const process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool add(table *t, const process *p)
{
    if (t->count == t->room) {
        size_t   room = t->room != 0 ? 2 * t->room : 256;
        process *rows = reallocarray(t->rows, room, sizeof *rows);
        if (rows == NULL)
            return false;
        t->rows = rows;
        t->room = room;
    }
    t->rows[t->count++] = *p;
    return true;
}

static const process *find(const table *t, pid_t pid)
{
    const process wanted = { .pid = pid };

    return t->count == 0 ? NULL : bsearch(&wanted, t->rows, t->count, sizeof *t->rows, by_pid);
}

/* ---- processes of the command ---------------------------------------------------------------- */

static bool is_in_group(const child *c, const process *p)
{
    return p->group == c->pid && !c->group_is_over;
}

static bool is_known(const table *known, const process *p)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->rows[i].pid == p->pid && known->rows[i].started == p->started)
            return true;
    return false;
}

/* Follows the parents up to the command or to bowline.  Children of bowline are orphans of the
 * command, unless bowline had children before. */
static bool descends(const table *t, const table *known, const child *c, const process *p)
{
    pid_t self = getpid();

    for (int depth = 0; p != NULL && depth < DEPTH_MAX; depth++) {
        if (p->pid == self)
            return false;
        if (p->parent == self && !c->had_children)
            return true;
        if (is_known(known, p) || (p->pid == c->pid && c->is_running))
            return true;
        p = find(t, p->parent);
    }
    return false;
}

/* A process that belongs to the command is remembered. */
static bool belongs(const table *t, table *known, const child *c, const process *p)
{
    if (p->state == 'Z' || p->state == 'X')
        return false;
    if (!is_in_group(c, p) && !descends(t, known, c, p))
        return false;
    if (known->count < KNOWN_MAX && !is_known(known, p))
        (void)add(known, p); /* (void): without memory, the next scan finds it by its parents */
    return true;
}

/* ---- signalling ------------------------------------------------------------------------------ */

/* Returns 0 or an errno: ESRCH if the process has ended, EPERM. */
static int send(const process *p, int number)
{
    process now;
    char    name[32];
    int     fd    = (int)syscall(SYS_pidfd_open, p->pid, 0);
    int     error = ESRCH;

    (void)snprintf(name, sizeof name, "%d", (int)p->pid);
    if (read_process(&now, name) && now.started == p->started) {
        error = fd >= 0 && syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) == 0 ? 0 : errno;
        /* The kernel lacks these calls, seccomp refuses them, or no descriptor is free. */
        if (fd < 0 || (error != 0 && error != ESRCH))
            error = kill(p->pid, number) < 0 ? errno : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return error;
}

static void count(family *f, const process *p, int error)
{
    if (error == ESRCH)
        return;
    f->alive++;
    if (f->pid == 0 || (error != 0 && f->refused == 0)) {
        f->pid = p->pid;
        memcpy(f->program, p->program, sizeof f->program);
    }
    f->refused += error != 0;
}

typedef struct look {
    table        all; /* of this scan */
    table       *known;
    const child *command;
    int          number;
    bool         is_new;     /* this scan found a process that no earlier scan found */
    bool         is_outside; /* do not signal the process group */
    DIR         *proc;
    family       found;
} look;

static void visit(look *l, process *p)
{
    size_t before = l->known->count;

    if (p->is_counted || !belongs(&l->all, l->known, l->command, p))
        return;
    p->is_counted = true;
    l->is_new     = l->is_new || l->known->count != before;
    if (!l->is_outside || !is_in_group(l->command, p))
        count(&l->found, p, send(p, l->number));
}

/* The children of one thread of bowline, as "4121 4122 ". */
static void kill_children_of(look *l, int tasks_fd, const char *thread)
{
    char path[64], text[LIST_MAX + 1];
    int  wrote = snprintf(path, sizeof path, "%s/children", thread);
    int  fd    = -1;

    if (wrote > 0 && (size_t)wrote < sizeof path)
        fd = openat(tasks_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* the thread has ended, or the kernel has no such list */
    ssize_t got = read(fd, text, LIST_MAX);
    (void)close(fd);
    text[got > 0 ? got : 0] = '\0';
    for (char *rest = NULL, *pid = strtok_r(text, " ", &rest); pid != NULL;
         pid = strtok_r(NULL, " ", &rest)) {
        process p;
        if (read_process(&p, pid) && p.parent == getpid() &&
            belongs(&l->all, l->known, l->command, &p))
            (void)send(&p, SIGKILL); /* (void): the scan checks again */
    }
}

/* The kernel gives an orphan of the command to any thread of bowline. */
static void kill_children(look *l)
{
    DIR                 *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    size_t               before = l->known->count;

    while (tasks != NULL && (entry = readdir(tasks)) != NULL)
        if (entry->d_name[0] != '.')
            kill_children_of(l, dirfd(tasks), entry->d_name);
    if (tasks != NULL)
        (void)closedir(tasks);
    l->is_new = l->is_new || l->known->count != before;
}

/* Signals each process as soon as it is read, so that a process that forks and exits has little
 * time.  Parents usually come before children; the second loop handles the rest.  Returns false if
 * /proc cannot be read or memory is out. */
static bool scan(look *l)
{
    const struct dirent *entry;
    bool                 is_whole = true;

    l->all    = (table){ .rows = NULL };
    l->found  = (family){ .alive = 0 };
    l->is_new = false;
    if (l->number == SIGKILL)
        kill_children(l);
    rewinddir(l->proc);
    while (is_whole && (entry = readdir(l->proc)) != NULL) {
        process p;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !read_process(&p, entry->d_name))
            continue;
        is_whole = add(&l->all, &p);
        if (is_whole)
            visit(l, &l->all.rows[l->all.count - 1]);
    }
    is_whole = is_whole && l->all.count > 0;
    if (is_whole)
        qsort(l->all.rows, l->all.count, sizeof *l->all.rows, by_pid);
    for (size_t i = 0; is_whole && i < l->all.count; i++)
        visit(l, &l->all.rows[i]);
    /* Bowline knows the command even if /proc hides it. */
    const child *c = l->command;
    if (c->is_running && !l->is_outside && (l->all.count == 0 || find(&l->all, c->pid) == NULL))
        count(&l->found, &(process){ .pid = c->pid }, kill(c->pid, l->number) < 0 ? errno : 0);
    free(l->all.rows);
    return is_whole;
}

/* Without /proc: the result of kill(2) on the group and on the command. */
static family signal_group(const child *c, int number)
{
    family f = { .alive = 0 };

    if (!c->group_is_over)
        count(&f, &(process){ .pid = c->pid }, kill(-c->pid, number) < 0 ? errno : 0);
    if (c->is_running)
        count(&f, &(process){ .pid = c->pid }, kill(c->pid, number) < 0 ? errno : 0);
    return f;
}

/* True if a process of the command is alive although no scan may have found it.  Reaps zombies, but
 * not the command itself: while the command is running, its processes are not all gone anyway. */
static bool has_child(const child *c)
{
    siginfo_t info = { .si_pid = 0 };

    if (c->had_children || c->is_running)
        return false;
    do {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0)
            return false;
    } while (info.si_pid != 0);
    return true;
}

void family_signal(family *ret_family, family_known *known, const child *c, int number)
{
    look l     = { .known = known, .command = c, .number = number, .proc = opendir("/proc") };
    bool knows = l.proc != NULL;
    int  empty = 0;

    for (int i = 0; knows && i < LOOKS_MAX && empty < LOOKS_EMPTY; i++) {
        knows = scan(&l);
        if (number == 0 && l.found.alive > 0)
            break;
        empty = l.is_new ? 0 : empty + 1;
    }
    *ret_family = knows ? l.found : signal_group(c, number);
    if (ret_family->alive == 0 && has_child(c))
        ret_family->alive = 1;
    if (l.proc != NULL)
        (void)closedir(l.proc);
}

void family_signal_outside(family_known *known, const child *c, int number)
{
    look l = {
        .known = known, .command = c, .number = number, .is_outside = true, .proc = opendir("/proc")
    };

    assert(number != 0);
    if (l.proc == NULL)
        return;
    (void)scan(&l); /* (void): the rest is killed later */
    (void)closedir(l.proc);
}

void family_forget(family_known *known)
{
    free(known->rows);
    *known = (family_known){ .rows = NULL };
}

unsigned long long family_started(pid_t pid)
{
    process p;
    char    name[32];

    (void)snprintf(name, sizeof name, "%d", (int)pid);
    return read_process(&p, name) ? p.started : 0;
}

bool family_is_alive(pid_t pid, unsigned long long started)
{
    process p;
    char    name[32];

    (void)snprintf(name, sizeof name, "%d", (int)pid);
    return read_process(&p, name) && p.started == started && p.state != 'Z' && p.state != 'X';
}
