/*
 * watch.h -- what a server does while others use it: its CPU, and the commands that clients send.
 *
 * INFO counts the commands that scripts call among all others.  MONITOR tells the two apart, but
 * costs time of its own: so commands are counted in a turn that nobody times.
 */
#ifndef BOWLINE_BENCH_WORLD_WATCH_H
#define BOWLINE_BENCH_WORLD_WATCH_H

#include <pthread.h>
#include <stdint.h>

#include "bench/base/say.h"

struct redisContext;

enum { BENCH_APART_MAX = 3 };

typedef struct bench_watch {
    struct redisContext *info;
    struct redisContext *monitor;
    pthread_t            thread; /* while it counts */
    int64_t              commands;
    const char          *apart[BENCH_APART_MAX]; /* whoever has this in it is counted apart */
    int64_t              apart_commands[BENCH_APART_MAX];
} bench_watch;

/* Close with bench_watch_close, which may be done at any time. */
int  bench_watch_open(bench_watch *ret_watch, int port, bench_failure *reterr);
void bench_watch_close(bench_watch *watch);

/* CPU of the server so far, in microseconds. */
int bench_watch_cpu(bench_watch *watch, double *ret_us, bench_failure *reterr);

/* Removes what is there, of whomever. */
int bench_watch_flush(bench_watch *watch, bench_failure *reterr);

/* The commands that clients send between the two calls, without those that are counted apart. */
int bench_watch_begin(bench_watch *watch, int port, bench_failure *reterr);
int bench_watch_end(bench_watch *watch, double *ret_commands, bench_failure *reterr);

#endif
