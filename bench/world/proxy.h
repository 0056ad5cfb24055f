/*
 * proxy.h -- delays every byte between a client and a server by the same time, in both directions.
 *
 * So a round trip is expensive, as on a network, and one round trip too many is visible above all
 * noise. It does not model loss, jitter or bandwidth.
 *
 * It is a process that listens on the loopback interface.
 */
#ifndef BOWLINE_BENCH_WORLD_PROXY_H
#define BOWLINE_BENCH_WORLD_PROXY_H

#include <sys/types.h>

#include "bench/base/say.h"

typedef struct bench_proxy {
    pid_t pid; /* 0: none */
    int   port;
} bench_proxy;

typedef struct bench_proxy_plan {
    int      server_port; /* on 127.0.0.1                                                       */
    unsigned delay_us;    /* each way                                                           */
} bench_proxy_plan;

/* End with bench_proxy_stop; it also ends with the thread that started it. Call only while the
 * process has one thread. */
int  bench_proxy_start(bench_proxy *ret_proxy, const bench_proxy_plan *plan, bench_failure *reterr);
void bench_proxy_stop(bench_proxy *proxy);

/* A socket that listens on a free port of the loopback interface. */
int bench_listen(int *ret_port, bench_failure *reterr);

#endif
