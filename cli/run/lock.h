/*
 * lock.h -- the lock of a job: waited for, taken, given back.
 */
#ifndef BOWLINE_CLI_RUN_LOCK_H
#define BOWLINE_CLI_RUN_LOCK_H

#include "cli/run/job.h"

/* Opens the client by the settings of the job. */
int lock_open(job *j, bowline_error *reterr);

/* Takes note, in ended_by, of a signal that tells us to go. */
void lock_hear_goodbye(job *j);

/* 0: it is ours, or we were told to go (ended_by), and hold says if it was won all the same.  The
 * URL is forgotten: it may have a password in it. */
int lock_take(job *j, failure *reterr);

/* Gives the lock back.  A signal ends the waiting for the answer: then the lease does it. */
int lock_give_back(job *j, bowline_error *reterr);

#endif
