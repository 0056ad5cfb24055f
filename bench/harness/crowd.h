/*
 * crowd.h -- many threads repeat one step, for two sides in turn; counts steps per second.
 *
 * In each round, the sides run one after the other.  Steps count only while all threads run.
 */
#ifndef BOWLINE_BENCH_HARNESS_CROWD_H
#define BOWLINE_BENCH_HARNESS_CROWD_H

#include "bench/harness/bench.h"
#include "bench/harness/rounds.h"

enum { BENCH_CROWD_MAX = 64 };

/* args[i] belongs to thread i. */
typedef struct bench_team {
    bench_step step;
    void      *args[BENCH_CROWD_MAX];
} bench_team;

/* Fills in the rates, and their ratio in each round. */
int bench_crowd_duel(bench_result *ret_result, const bench_measure *measure, unsigned rounds,
                     const bench_team *ours, const bench_team *theirs, bench_failure *reterr);

#endif
