/*
 * server.h -- a redis-server of the benchmark's own, on a free port of the loopback interface, with
 * nothing kept on disk.  It never uses the port that others expect a server on.
 */
#ifndef BOWLINE_BENCH_WORLD_SERVER_H
#define BOWLINE_BENCH_WORLD_SERVER_H

#include <sys/types.h>

#include "bench/base/janitor.h"
#include "bench/base/machine.h"

typedef struct bench_server {
    pid_t pid; /* 0: it does not run */
    int   port;
    char  version[BENCH_FACT_MAX];
} bench_server;

/* Starts it in the janitor's directory, and waits until it answers.  End with bench_server_stop; it
 * also ends when this process does. */
int  bench_server_start(bench_server *ret_server, bench_janitor *janitor, bench_failure *reterr);
void bench_server_stop(bench_server *server, bench_janitor *janitor);

/* The path of a program that $PATH leads to, or NULL.  The caller frees it. */
char *bench_find_program(const char *name);

#endif
