/*
 * ending.h -- stops a command that is losing its lock, and reports processes that cannot be
 * stopped.
 *
 *      TERM --> KILL --> all processes have ended
 *                   `--> some have not: reported at once; bowline keeps the lock until
 *                        they end or until the lock is lost
 *
 * The processes of a command are its process group and its descendants (family.h). A process cannot
 * be stopped if it runs as another user (sudo) or hangs in the kernel (a dead file server).
 */
#pragma once

#include "cli/run/job.h"

void ending_term(job *j);
void ending_kill(job *j);

/* True after the first TERM or KILL. */
bool ending_has_begun(const job *j);

/* Checks which processes are left, and kills them when it is time. Returns false if none is left,
 * or if the rest cannot be stopped and the lock cannot be kept any longer (j->ending.gave_up). */
bool ending_continues(job *j);

/* Call before the lock is released. */
void ending_close(job *j);
