/*
 * janitor.h -- a temporary directory, and a process that cleans up however the benchmark ends.
 *
 * The janitor waits for the end of the benchmark: normal, Ctrl-C or a crash. Then it stops the
 * processes that it was given, and removes the directory.
 */
#ifndef BOWLINE_BENCH_BASE_JANITOR_H
#define BOWLINE_BENCH_BASE_JANITOR_H

#include <sys/types.h>

#include "bench/base/say.h"

enum { BENCH_DIRECTORY_MAX = 96 };

typedef struct bench_janitor {
    char  directory[BENCH_DIRECTORY_MAX];    /* of mode 0700, without a trailing slash */
    pid_t pid;                               /* 0: none                                */
    int   leash;                             /* closed when the benchmark ends */
    struct bench_janitor_list *janitor_list; /* shared with the janitor */
} bench_janitor;

/* Creates a directory below $TMPDIR or /tmp. End with bench_janitor_dismiss. */
int bench_janitor_hire(bench_janitor *ret_janitor, bench_failure *reterr);

/* The janitor stops `process` unless bench_janitor_forget is called first. */
void bench_janitor_mind(bench_janitor *janitor, pid_t process);
void bench_janitor_forget(bench_janitor *janitor, pid_t process);

/* Lets the janitor clean up, and waits for it. */
void bench_janitor_dismiss(bench_janitor *janitor);

/* For a forked child: closes every descriptor but standard error and `keep`, leaves the process
 * group (no Ctrl-C), and dies with the parent. */
void bench_child_alone(pid_t parent, int keep);

#endif
