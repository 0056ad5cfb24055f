/*
 * ending.h -- ends a command whose lock is being lost, and says so where it cannot.
 *
 *      TERM --> KILL --> all its processes are gone
 *                   `--> some are not: said at once; the lock is kept until they are,
 *                        or until it is lost
 *
 * All its processes: its group and its descendants (family.h).  A process cannot be stopped when it
 * runs as another user (sudo), or hangs in the kernel (a dead file server).
 */
#ifndef BOWLINE_CLI_RUN_ENDING_H
#define BOWLINE_CLI_RUN_ENDING_H

#include "cli/run/job.h"

void ending_term(job *j);
void ending_kill(job *j);

/* True from TERM or KILL on. */
bool ending_has_begun(const job *j);

/* Looks what is left of the command, and kills it if its time is over.  False: nothing is left, or
 * what is left cannot be stopped and the lock cannot be kept any longer (j->ending.gave_up). */
bool ending_goes_on(job *j);

/* Before the lock is given back. */
void ending_close(job *j);

#endif
