/*
 * lock.h -- the lock of a job: acquire and release, while signals are handled.
 */
#pragma once

#include "cli/run/job.h"

/* Opens the client with the settings of the job. */
int lock_open(job *j, bowline_error *reterr);

/* Stores in ended_by a signal that makes bowline exit. */
void lock_check_signals(job *j);

/* Returns 0 if the lock is held, or if a signal ended the wait (ended_by); in that case `hold` is
 * set only if the lock was acquired nevertheless.  Wipes the URL, which may contain a password. */
int lock_take(job *j, failure *reterr);

/* Releases the lock.  A signal ends the wait for the reply; the lock then ends with its lease. */
int lock_release(job *j, bowline_error *reterr);
