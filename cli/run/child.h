/*
 * child.h -- the command of `bowline run`: search, start, state, signals. It has its own process
 * group.
 *
 *      child_start --> starting --exec--> running <--> stopped --> ended
 *                         +-----cannot be run----------------------^
 *
 * The command gets the signal handlers, the signal mask and the descriptors that the caller of
 * bowline had. If bowline dies, the kernel sends TERM to the command.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cli/run/loop.h"

/* The foreground of the terminal: the process group of bowline, or that of the
 * command.
 *
 * The command has its own process group, so that all of it can be stopped. A terminal serves only
 * its foreground group, and sends Ctrl-C only there. If a shell has started bowline as a job of its
 * own (it leads its process group, standard input and output are the terminal), the command gets
 * the foreground at once, as it would from the shell. Otherwise other processes use the terminal
 * too (`bowline run ... | less`, a script, make), and the command gets the foreground only when the
 * kernel stops it for reading or writing there. */

typedef struct terminal {
    int   fd;     /* below 0: no terminal */
    pid_t lent;   /* the group that has the foreground from bowline; 0: none */
    bool  wanted; /* lend it whenever bowline is in the foreground */
} terminal;

void terminal_open(terminal *ret_terminal);

/* True if the process group of bowline is in the foreground. */
bool terminal_is_ours(const terminal *t);

/* Gives the foreground to `group`. Bowline must have it. */
void terminal_lend(terminal *t, pid_t group);

/* Takes the foreground back, unless another group has taken it meanwhile. */
void terminal_take_back(terminal *t);

typedef struct child_plan {
    char         **command; /* ends with NULL */
    const signals *signals;
    const int     *fds; /* stay open in the command */
    int            fds_count;
    bool           may_wait; /* bowline may sleep until it has started */
} child_plan;

typedef struct child {
    pid_t pid;           /* also the number of its process group */
    int   exec_fd;       /* readable when exec has succeeded or failed; below 0 after that */
    int   exec_error;    /* errno of exec, or 0 */
    int   stopped_by;    /* the signal while it is stopped, or 0 */
    int   killed_by;     /* the signal that ended it, or 0 */
    int   code;          /* its exit status, if it exited */
    bool  is_new;        /* child_has_begun has not returned true yet */
    bool  is_running;    /* has not ended */
    bool  group_is_over; /* its group is empty: the number may be reused */
    bool  had_children;  /* bowline had children before: a shell forked, then exec'd bowline */
} child;

/* Checks that the command can be run, before any lock is taken. Fails with code 126 or 127. */
int child_find(char **command, failure *reterr);

failure child_failure(char **command, int error);

/* Starts the command. Lends it the terminal first if it is to have it at once. */
int child_start(child *ret_child, const child_plan *plan, terminal *t, failure *reterr);

/* Returns true once: exec has succeeded or failed (exec_error). */
bool child_has_begun(child *c);

/* Returns true if the command has stopped or ended since the last call. */
bool child_poll(child *c);

/* Sends a signal to the group of the command, even after the command itself has ended, and to the
 * command if it has left the group. Returns 0, or EPERM if a process runs as another user. */
int child_signal(const child *c, int number);

/* The processes of a command: its process group, and its descendants in other groups.
 *
 * A process leaves the group by setsid(2) or setpgid(2): a daemon, a job of a shell. It stays a
 * descendant of bowline, which is a child subreaper: an orphan of the command becomes a child of
 * bowline. So /proc shows all descendants by their parents.
 *
 * Not found are processes that another service starts for the command (at(1), a container), and
 * descendants of another user if /proc hides them (hidepid). */

enum { FAMILY_PROGRAM_MAX = 16 };

typedef struct family {
    int   alive;   /* number of processes */
    int   refused; /* of these, how many bowline may not signal */
    pid_t pid;     /* one of them, a refused one first; 0 if none is known */
    char  program[FAMILY_PROGRAM_MAX];
} family;

/* Processes that belong to the command. They stay known as orphans, even if a scan can no longer
 * tell whose orphans they are (child.had_children). */
typedef struct family_known {
    struct process *rows;
    size_t          count;
    size_t          room;
} family_known;

/* Sends `number` to each process of the command and counts the processes that the last scan found.
 * Scans until two scans in a row find no new process, at most 64 times.  With number 0 it sends
 * nothing, and stops after a scan that finds a process.  If the command has ended and bowline had
 * no children before, the count is 0 only if bowline has no child left; a child that no scan found
 * counts with pid 0.  Reaps orphans.  Without /proc it signals only the group and the command. */
void family_signal(family *ret_family, family_known *known, const child *c, int number);

/* Sends `number` once to each process of the command outside of its group. */
void family_signal_outside(family_known *known, const child *c, int number);

void family_forget(family_known *known);

/* Start time of a process in clock ticks; pid and start time identify a process. 0: no such
 * process, or no /proc. */
unsigned long long family_started(pid_t pid);

/* True while this process runs.  A zombie has ended. */
bool family_is_alive(pid_t pid, unsigned long long started);
