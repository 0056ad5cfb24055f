/*
 * watched.h -- a process whose end is watched: by pidfd_open(2), or where that is missing, by its
 * start time in /proc.  Both survive the reuse of its pid.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cli/text/say.h"

typedef struct watched {
    pid_t              pid;
    unsigned long long started; /* clock ticks after boot; 0: unknown */
    int                fd;      /* readable when the process has ended; below 0: poll */
} watched;

enum { WATCHED_POLL_MS = 500 }; /* how often to look at a process without a descriptor */

/* Fails if there is no such process, or if it cannot be watched.  Close `fd` in a process that goes
 * on; the keeper keeps it until it exits. */
int watched_open(watched *ret_watched, pid_t pid, failure *reterr);

/* A zombie has ended. */
bool watched_has_ended(const watched *w);
