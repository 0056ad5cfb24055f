/*
 * rounds.h -- two sides take turns: latencies of both, and the ratio of each round.
 *
 * A round has as many samples of either side.  The sides change every few samples, and who begins
 * changes with every round, so that neither always comes into the other's warm caches.
 */
#ifndef BOWLINE_BENCH_HARNESS_ROUNDS_H
#define BOWLINE_BENCH_HARNESS_ROUNDS_H

#include "bench/base/stats.h"
#include "bench/harness/bench.h"

/* Carries out once what is measured. */
typedef int (*bench_step)(void *arg, bench_failure *reterr);

/* The same, where only a part of it is what is timed. */
typedef int (*bench_timed_step)(void *arg, int64_t *ret_ns, bench_failure *reterr);

typedef struct bench_side {
    bench_step       step;
    void            *arg;
    bench_timed_step timed; /* in place of `step`, in batches of one */
} bench_side;

typedef struct bench_duel {
    const char *name; /* for the line of progress                                       */
    bench_side  ours;
    bench_side  theirs;
    unsigned    rounds;
    size_t      samples; /* of each side in a round                                        */
    size_t      turn;    /* samples until it is the other's turn                           */
    size_t      batch;   /* steps in a sample, of which the mean counts                    */
    unsigned    gap_us;  /* for which both sides do something else before each sample      */
} bench_duel;

int bench_fight(bench_result *ret_result, const bench_duel *duel, bench_failure *reterr);

/* p50, p99 and p999 of all samples.  Reorders them. */
bench_figures bench_figures_of(bench_samples *samples);

#endif
