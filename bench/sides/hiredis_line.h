/*
 * hiredis_line.h -- the other side of a hand-over: the same scripts and messages by blocking
 * hiredis.
 *
 * It is the least that hands on a lock as the library does: JOIN, RELEASE and a message.  The
 * waiter has a second connection that only listens.  Nothing is confirmed, renewed or retried;
 * after a lost message it would wait for ever.
 */
#ifndef BOWLINE_BENCH_SIDES_HIREDIS_LINE_H
#define BOWLINE_BENCH_SIDES_HIREDIS_LINE_H

#include "bench/base/say.h"

struct redisContext;

typedef struct bench_line {
    struct redisContext *holder;
    struct redisContext *waiter;
    struct redisContext *inbox; /* subscribed connection of the waiter */
} bench_line;

/* Connects to 127.0.0.1 and loads the scripts.  Close with bench_line_close. */
int  bench_line_open(bench_line *ret_line, int port, bench_failure *reterr);
void bench_line_close(bench_line *line);

/* The holder acquires the free lock. */
int bench_line_take(bench_line *line, bench_failure *reterr);

/* The waiter enqueues and returns on the message.  Runs in its own thread. */
int bench_line_wait(bench_line *line, bench_failure *reterr);

/* The holder releases. */
int bench_line_release(bench_line *line, bench_failure *reterr);

#endif
