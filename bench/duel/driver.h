/*
 * driver.h -- a program that keeps the contract of bench/peers/README.md, while it runs.
 *
 * What it does not do is its own affair and no failure of the benchmark: `why` says it.
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
    pid_t          pid; /* 0: it does not run */
    int            to;
    int            from;
    char          *heard; /* what was read and is not a line yet */
    size_t         size;
    size_t         room;
    bench_janitor *janitor;
    bench_text     errors; /* the file with what it says on standard error */
} bench_driver;

typedef struct bench_driver_plan {
    const char *const *words;  /* of the command, NULL behind the last one */
    const char        *word;   /* one more, or NULL                        */
    const char        *name;   /* of the lock                              */
    int                port;   /* on 127.0.0.1                             */
    unsigned           number; /* which of ours it is                      */
} bench_driver_plan;

/* The driver of our side, which was built together with this program. */
int bench_driver_find_ours(char ret_path[PATH_MAX], bench_failure *reterr);

/* Starts it where this thread may run.  bench_driver_hear says when it is "ready".  End with
 * bench_driver_end. */
int  bench_driver_start(bench_driver *ret_driver, bench_janitor *janitor,
                        const bench_driver_plan *plan, bench_text *ret_why);
void bench_driver_end(bench_driver *driver);

/* Tells it a line; hears one, which begins with `word`.  The line is the driver's, until the next
 * call, and without that word. */
int bench_driver_tell(bench_driver *driver, const char *line, bench_text *ret_why);
int bench_driver_hear(bench_driver *driver, const char *word, char **ret_line, bench_text *ret_why);
int bench_driver_ask(bench_driver *driver, const char *line, const char *word, char **ret_line,
                     bench_text *ret_why);

/* The CPU that it has used so far, in microseconds; 0 where the system does not say. */
double bench_driver_cpu_us(const bench_driver *driver);

#endif
