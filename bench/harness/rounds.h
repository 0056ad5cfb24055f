/*
 * rounds.h -- two sides alternate: latencies of both, and the ratio of each round.
 *
 * A round has the same number of samples of each side. The sides alternate every few samples, and
 * the first side changes with every round, so that neither always finds the caches warm.
 */
#ifndef BOWLINE_BENCH_HARNESS_ROUNDS_H
#define BOWLINE_BENCH_HARNESS_ROUNDS_H

#include "bench/base/stats.h"
#include "bench/harness/bench.h"

/* Does once what is measured. */
typedef int (*bench_step)(void *arg, bench_failure *reterr);

/* The same if only a part is timed. */
typedef int (*bench_timed_step)(void *arg, int64_t *ret_ns, bench_failure *reterr);

typedef struct bench_side {
    bench_step       step;
    void            *arg;
    bench_timed_step timed; /* instead of `step`, in batches of one */
} bench_side;

typedef struct bench_duel {
    const char *name; /* for the line of progress */
    bench_side  ours;
    bench_side  theirs;
    unsigned    rounds;
    size_t      samples; /* per side and round */
    size_t      turn;    /* samples before the sides alternate */
    size_t      batch;   /* steps per sample, which is their mean */
    unsigned    gap_us;  /* busy time of both sides before each sample */
} bench_duel;

int bench_fight(bench_result *ret_result, const bench_duel *duel, bench_failure *reterr);

/* p50, p99 and p999 of all samples.  Reorders them. */
bench_figures bench_figures_of(bench_samples *samples);

#endif
