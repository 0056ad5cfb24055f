/*
 * family.h -- the processes of a command: its group, and its descendants wherever they went.
 *
 * A process leaves the group of the command by setsid(2) or setpgid(2): a daemon, a job of a shell
 * inside.  It stays a descendant of bowline, which is a child subreaper: an orphan of the command
 * becomes a child of bowline.  So the descendants are found in /proc, by their parents.
 *
 * Not found is what another service starts on request (a job of at(1), a container), and, where
 * /proc hides the processes of other users (hidepid), a descendant that belongs to one.
 */
#ifndef BOWLINE_CLI_RUN_FAMILY_H
#define BOWLINE_CLI_RUN_FAMILY_H

#include <sys/types.h>

#include "cli/run/child.h"

enum { FAMILY_PROGRAM_MAX = 16 };

/* What one look has found.  A process that has ended and was not waited for yet does not count. */
typedef struct family {
    int   alive;   /* processes                                                              */
    int   refused; /* of these, the ones that kill(2) may not signal                         */
    pid_t pid;     /* one of them: a refused one, if there is one; 0 if none is known        */
    char  program[FAMILY_PROGRAM_MAX];
} family;

/* Processes that were seen to belong to the command.  One of them stays known when it becomes an
 * orphan, also where nobody could tell any more whose orphan it is (child.has_elder). */
typedef struct family_known {
    struct process *rows;
    size_t          count;
    size_t          room;
} family_known;

/* Sends `number` to each process of the command, and counts those that were alive at the last look.
 * It looks until two looks in a row find no process that is new, at most 64 times.  With 0
 * it only looks, and one look that finds a process is enough.  Where the command was waited for and
 * bowline had no children before, none counts as alive only if bowline has no child left; one that
 * is there and was not found counts, with a pid of 0.  Its orphans that have ended are waited for.
 * Where /proc cannot be read, the group and the command itself are signalled. */
void family_signal(family *ret_family, family_known *known, const child *c, int number);

/* Sends `number` to each process of the command that is not in its group, once. */
void family_signal_outside(family_known *known, const child *c, int number);

void family_forget(family_known *known);

/* When a process was started, in clock ticks of the machine: with its pid, who it is.  0: there is
 * no such process, or no /proc. */
unsigned long long family_started(pid_t pid);

#endif
