/*
 * driver.h -- a running driver program; bench/peers/README.md is its contract.
 *
 * A driver that breaks the contract is no failure of the benchmark: `why` says what it did.
 */
#ifndef BOWLINE_BENCH_DUEL_DRIVER_H
#define BOWLINE_BENCH_DUEL_DRIVER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/base/janitor.h"
#include "bench/base/say.h"

typedef struct bench_driver {
    pid_t          pid; /* 0: not running */
    int            to;
    int            from;
    char          *received; /* bytes that are no whole line yet */
    size_t         size;
    size_t         room;
    bench_janitor *janitor;
    bench_text     errors; /* the file with its standard error */
} bench_driver;

typedef struct bench_driver_plan {
    const char *const *words;  /* the command, ends with NULL */
    const char        *word;   /* one more, or NULL                        */
    const char        *name;   /* of the lock                              */
    int                port;   /* on 127.0.0.1                             */
    unsigned           number; /* number of the driver on its side */
} bench_driver_plan;

/* The driver of the library, built with this program. */
int bench_driver_find_ours(char ret_path[PATH_MAX], bench_failure *reterr);

/* Starts it on the CPUs of this thread. bench_driver_hear waits for "ready". End with
 * bench_driver_end. */
int  bench_driver_start(bench_driver *ret_driver, bench_janitor *janitor,
                        const bench_driver_plan *plan, bench_text *ret_why);
void bench_driver_end(bench_driver *driver);

/* Sends a line; reads a line that begins with `word`, and returns the rest, valid until the next
 * call. */
int bench_driver_tell(bench_driver *driver, const char *line, bench_text *ret_why);
int bench_driver_hear(bench_driver *driver, const char *word, char **ret_line, bench_text *ret_why);
int bench_driver_ask(bench_driver *driver, const char *line, const char *word, char **ret_line,
                     bench_text *ret_why);

/* Its CPU time so far, in microseconds; 0: unknown. */
double bench_driver_cpu_us(const bench_driver *driver);

#endif
