/*
 * child.h -- the command: found, started, ended, in a process group of its own.
 *
 *      child_start --> starting --exec--> running <--> stopped --> ended
 *                         +-----cannot be run----------------------^
 *
 * It finds its signals, its mask and its descriptors as the caller of bowline left them.  If
 * bowline dies, whatever the reason, the kernel sends it TERM.
 */
#ifndef BOWLINE_CLI_RUN_CHILD_H
#define BOWLINE_CLI_RUN_CHILD_H

#include <sys/types.h>

#include "cli/run/signals.h"
#include "cli/run/terminal.h"

typedef struct child_plan {
    char         **command; /* ends with NULL */
    const signals *signals;
    const int     *fds; /* to be left open in the command */
    int            fds_count;
    bool           may_wait; /* nothing needs us while it is being started */
} child_plan;

typedef struct child {
    pid_t pid;           /* also the number of its group                                        */
    int   exec_fd;       /* readable when it is started or cannot be; below 0: that is known    */
    int   exec_error;    /* why it could not be run; 0                                          */
    int   stopped_by;    /* the signal, while it is stopped; else 0                             */
    int   killed_by;     /* the signal that ended it; else 0                                    */
    int   code;          /* its exit code, if it ended by itself                                */
    bool  is_new;        /* that it has begun was not told yet                                   */
    bool  is_running;    /* it has not ended                                                    */
    bool  group_is_over; /* its group has no member any more: the number may be another's     */
    bool  has_elder;     /* bowline had a child before: a shell started one, and became bowline  */
} child;

/* Looks whether the command can be run at all, so that a slip never takes the lock: fails with 126
 * or 127. */
int child_find(char **command, failure *reterr);

/* Why it cannot be run, in words. */
failure child_failure(char **command, int error);

/* Starts it.  It gets the terminal first, if it should have that at once. */
int child_start(child *ret_child, const child_plan *plan, terminal *t, failure *reterr);

/* True, once: it has been started, or could not be (exec_error). */
bool child_has_begun(child *c);

/* True if it has stopped or ended since the last look. */
bool child_look(child *c);

/* To every process of its group, whether or not the command itself still runs, and to the command
 * where it has moved to another group.  0, or the errno of kill(2) if no process got it because
 * bowline may not signal them (EPERM: they run as another user). */
int child_signal(const child *c, int number);

#endif
