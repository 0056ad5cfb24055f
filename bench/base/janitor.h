/*
 * janitor.h -- a directory of our own, and somebody who clears up behind us however we end.
 *
 * A small process waits for our end: an orderly one, Ctrl-C, or a crash.  Then it stops what it was
 * told to stop, by process id, and removes the directory.
 */
#ifndef BOWLINE_BENCH_BASE_JANITOR_H
#define BOWLINE_BENCH_BASE_JANITOR_H

#include <sys/types.h>

#include "bench/base/say.h"

enum { BENCH_DIRECTORY_MAX = 96 };

typedef struct bench_janitor {
    char  directory[BENCH_DIRECTORY_MAX]; /* of mode 0700, without a trailing slash */
    pid_t pid;                            /* 0: none                                */
    int   leash;                          /* closed by our end, and the janitor sees that */
    struct bench_minding *minding;        /* shared with it                         */
} bench_janitor;

/* Makes a directory below $TMPDIR, or /tmp.  End with bench_janitor_dismiss. */
int bench_janitor_hire(bench_janitor *ret_janitor, bench_failure *reterr);

/* It stops `process`, should we end before bench_janitor_forget. */
void bench_janitor_mind(bench_janitor *janitor, pid_t process);
void bench_janitor_forget(bench_janitor *janitor, pid_t process);

/* Lets it clear up, and waits until it has. */
void bench_janitor_dismiss(bench_janitor *janitor);

/* For a child that was forked: closes every descriptor but standard error and `keep`, puts the
 * child into a group that the terminal's Ctrl-C does not reach, and lets it die with its parent. */
void bench_child_alone(pid_t parent, int keep);

#endif
