/*
 * family.h -- the processes of a command: its process group, and its descendants in other groups.
 *
 * A process leaves the group by setsid(2) or setpgid(2): a daemon, a job of a shell. It stays a
 * descendant of bowline, which is a child subreaper: an orphan of the command becomes a child of
 * bowline. So /proc shows all descendants by their parents.
 *
 * Not found are processes that another service starts for the command (at(1), a container), and
 * descendants of another user if /proc hides them (hidepid).
 */
#pragma once

#include <sys/types.h>

#include "cli/run/child.h"

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
 * Scans until two scans in a row find no new process, at most 64 times. With number 0 it sends
 * nothing, and stops after a scan that finds a process. If the command has ended and bowline had no
 * children before, the count is 0 only if bowline has no child left; a child that no scan found
 * counts with pid 0. Reaps orphans. Without /proc it signals only the group and the command. */
void family_signal(family *ret_family, family_known *known, const child *c, int number);

/* Sends `number` once to each process of the command outside of its group. */
void family_signal_outside(family_known *known, const child *c, int number);

void family_forget(family_known *known);

/* Start time of a process in clock ticks; pid and start time identify a process. 0: no such
 * process, or no /proc. */
unsigned long long family_started(pid_t pid);
