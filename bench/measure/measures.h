/*
 * measures.h -- the table of measures.
 */
#ifndef BOWLINE_BENCH_MEASURE_MEASURES_H
#define BOWLINE_BENCH_MEASURE_MEASURES_H

#include "bench/harness/bench.h"

extern const bench_measure bench_measures[];
extern const size_t        bench_measures_count;

#endif
