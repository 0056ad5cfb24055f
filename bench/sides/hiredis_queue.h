/*
 * hiredis_queue.h -- the other side of a hand-over: the same scripts and messages by blocking
 * hiredis.
 *
 * It sends the minimum that hands a lock over: JOIN, RELEASE and a message.  The waiter has a
 * second connection that only subscribes.  Nothing is confirmed, renewed or retried; after a lost
 * message the waiter waits for ever.
 */
#ifndef BOWLINE_BENCH_SIDES_HIREDIS_QUEUE_H
#define BOWLINE_BENCH_SIDES_HIREDIS_QUEUE_H

#include "bench/base/say.h"

struct redisContext;

typedef struct bench_queue {
    struct redisContext *holder;
    struct redisContext *waiter;
    struct redisContext *push_channel; /* subscribed connection of the waiter */
} bench_queue;

/* Connects to 127.0.0.1 and loads the scripts.  Close with bench_queue_close. */
int  bench_queue_open(bench_queue *ret_queue, int port, bench_failure *reterr);
void bench_queue_close(bench_queue *queue);

/* The holder acquires the free lock. */
int bench_queue_take(bench_queue *queue, bench_failure *reterr);

/* The waiter enqueues and returns on the message.  Runs in its own thread. */
int bench_queue_wait(bench_queue *queue, bench_failure *reterr);

/* The holder releases. */
int bench_queue_release(bench_queue *queue, bench_failure *reterr);

#endif
