/*
 * server.h -- starts a redis-server on a free port of the loopback interface, without persistence.
 * It never uses the default port.
 */
#ifndef BOWLINE_BENCH_WORLD_SERVER_H
#define BOWLINE_BENCH_WORLD_SERVER_H

#include <sys/types.h>

#include "bench/base/janitor.h"
#include "bench/base/machine.h"

typedef struct bench_server {
    pid_t pid; /* 0: not running */
    int   port;
    char  version[BENCH_FACT_MAX];
} bench_server;

/* Starts it in the directory of the janitor and waits until it answers. End with bench_server_stop;
 * it also ends with this process. */
int  bench_server_start(bench_server *ret_server, bench_janitor *janitor, bench_failure *reterr);
void bench_server_stop(bench_server *server, bench_janitor *janitor);

/* The path of a program in $PATH, or NULL. The caller frees it. */
char *bench_find_program(const char *name);

#endif
