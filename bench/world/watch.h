/*
 * watch.h -- counts the CPU time of a server and the commands that clients send to it.
 *
 * INFO also counts the commands inside of scripts. MONITOR tells them apart but costs time: so
 * commands are counted in a turn that is not timed.
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
    pthread_t            thread; /* while counting */
    int64_t              commands;
    const char *apart[BENCH_APART_MAX]; /* a command with this text is counted separately */
    int64_t     apart_commands[BENCH_APART_MAX];
} bench_watch;

/* Close with bench_watch_close, at any time. */
int  bench_watch_open(bench_watch *ret_watch, int port, bench_failure *reterr);
void bench_watch_close(bench_watch *watch);

/* CPU time of the server so far, in microseconds. */
int bench_watch_cpu(bench_watch *watch, double *ret_us, bench_failure *reterr);

/* Removes all keys. */
int bench_watch_flush(bench_watch *watch, bench_failure *reterr);

/* The commands that clients sent between the two calls, without those counted separately. */
int bench_watch_begin(bench_watch *watch, int port, bench_failure *reterr);
int bench_watch_end(bench_watch *watch, double *ret_commands, bench_failure *reterr);

#endif
