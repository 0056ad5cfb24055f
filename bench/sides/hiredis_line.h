/*
 * hiredis_line.h -- their side of a hand-over: the same scripts, and the same message to who waits,
 * by blocking hiredis.
 *
 * It is the least that hands a lock on as the library does: JOIN, RELEASE and a message.  Whoever
 * waits has a connection that listens and does nothing else.  Nothing is confirmed, renewed,
 * counted or looked for again; with a message that is lost it would wait for ever.
 */
#ifndef BOWLINE_BENCH_SIDES_HIREDIS_LINE_H
#define BOWLINE_BENCH_SIDES_HIREDIS_LINE_H

#include "bench/base/say.h"

struct redisContext;

typedef struct bench_line {
    struct redisContext *holder;
    struct redisContext *waiter;
    struct redisContext *inbox; /* of the waiter */
} bench_line;

/* Connects to 127.0.0.1, and has the server learn the scripts.  Close with bench_line_close. */
int  bench_line_open(bench_line *ret_line, int port, bench_failure *reterr);
void bench_line_close(bench_line *line);

/* The holder has it; nobody waits. */
int bench_line_take(bench_line *line, bench_failure *reterr);

/* The waiter stands in line, and returns when he is told.  A thread of its own. */
int bench_line_wait(bench_line *line, bench_failure *reterr);

/* The holder lets go. */
int bench_line_release(bench_line *line, bench_failure *reterr);

#endif
