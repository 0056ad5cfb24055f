/*
 * machine.h -- the machine: name, clock, CPUs, and whether it is quiet.
 *
 * On the loopback interface the placement of client and server makes a factor of ten: an idle CPU
 * must be woken, the CPU of the sender need not. So every figure belongs to a regime.
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
    unsigned cpus_count; /* that this process may use */
    size_t   cpus[BENCH_CPUS_MAX];
} bench_machine;

typedef enum bench_regime {
    BENCH_SAME = 1, /* S: client and server on one CPU: the cost of computation */
    BENCH_CROSS,    /* X: on two CPUs: the cost of wake-ups */
    BENCH_PROXY,    /* P: through the delay proxy, not pinned: the number of round trips */
    BENCH_FREE,     /* not pinned */
} bench_regime;

const char *bench_regime_name(bench_regime regime);

int bench_machine_read(bench_machine *ret_machine, bench_failure *reterr);

/* The kind of file system that a path is on: "tmpfs", "ext4", or "another file system". */
const char *bench_file_system(const char *path);

/* Pins this thread, its future children, and all threads of the server (0: none). Pinning only
 * makes figures steadier: a failure is ignored. */
void bench_place(const bench_machine *machine, bench_regime regime, pid_t server);

int64_t bench_now_ns(void);
void    bench_sleep_ms(int64_t ms);
void    bench_sleep_us(int64_t us);

/* The result of waiting for a quiet machine. */
typedef struct bench_quiet {
    bool   was_asked; /* a wait was requested */
    bool   is_quiet;
    double waited_s;
    double busy; /* load of all CPUs in the last second: 0 to 1 */
} bench_quiet;

/* Waits until the machine has been quiet for two seconds, at most most_s seconds. */
bench_quiet bench_wait_for_quiet(unsigned most_s);

#endif
