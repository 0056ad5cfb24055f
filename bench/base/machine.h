/*
 * machine.h -- the machine under the benchmark: which it is, its clock, its CPUs, and whether it is
 * quiet.
 *
 * On the loopback interface the placement of client and server decides about a factor of ten: an
 * idle CPU has to be woken, the one that is just sending has not.  Every figure therefore belongs
 * to a regime.
 */
#ifndef BOWLINE_BENCH_BASE_MACHINE_H
#define BOWLINE_BENCH_BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/base/say.h"

enum { BENCH_CPUS_MAX = 1024, BENCH_FACT_MAX = 96 };

typedef struct bench_machine {
    char     model[BENCH_FACT_MAX]; /* of the CPU          */
    char     kernel[BENCH_FACT_MAX];
    unsigned cpus_count; /* that we may run on  */
    size_t   cpus[BENCH_CPUS_MAX];
} bench_machine;

typedef enum bench_regime {
    BENCH_SAME = 1, /* S: client and server on one CPU: how much is computed           */
    BENCH_CROSS,    /* X: on two CPUs: what it costs to wake one another               */
    BENCH_PROXY,    /* P: through the delay proxy, not pinned: how many round trips   */
    BENCH_FREE,     /* nothing is pinned                                               */
} bench_regime;

const char *bench_regime_name(bench_regime regime);

int bench_machine_read(bench_machine *ret_machine, bench_failure *reterr);

/* The kind of file system that a path is on: "tmpfs", "ext4", or "another file system". */
const char *bench_file_system(const char *path);

/* Puts this thread, and what it starts from now on, on its CPUs; and all threads of the server, if
 * there is one (0: none).  Pinning is to make figures steady: where it is not permitted they are
 * less so, and nothing else. */
void bench_place(const bench_machine *machine, bench_regime regime, pid_t server);

int64_t bench_now_ns(void);
void    bench_sleep_ms(int64_t ms);
void    bench_sleep_us(int64_t us);

/* How it went to wait for quiet. */
typedef struct bench_quiet {
    bool   was_asked; /* somebody wanted to wait at all                                       */
    bool   is_quiet;
    double waited_s;
    double busy; /* of all CPUs, in the last second that was looked at: 0 .. 1                */
} bench_quiet;

/* Waits until the machine has been quiet for two seconds, for most_s seconds at most. */
bench_quiet bench_wait_for_quiet(unsigned most_s);

#endif
