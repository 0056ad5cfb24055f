/*
 * stats.h -- what is made of many measured values: medians, percentiles, the spread of rounds.
 */
#ifndef BOWLINE_BENCH_BASE_STATS_H
#define BOWLINE_BENCH_BASE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds, in the order in which they were measured. */
typedef struct bench_samples {
    int64_t *ns;
    size_t   count;
    size_t   room;
} bench_samples;

/* Room for `more` values; false when memory ends.  Free with bench_samples_free. */
bool bench_samples_reserve(bench_samples *samples, size_t more);
void bench_samples_add(bench_samples *samples, int64_t ns); /* room was reserved */
void bench_samples_free(bench_samples *samples);

/* The smallest value that at least per_mille thousandths of all values do not exceed (the nearest
 * rank: always one that was measured).  500 is the median, the lower one of two.  Reorders the
 * values behind `first`.  At least one value; 1 .. 1000. */
int64_t bench_percentile(bench_samples *samples, size_t first, unsigned per_mille);

/* The middle one, or the mean of the two in the middle.  At least one value; leaves them as they
 * are. */
double bench_median(const double *values, size_t count);
double bench_least(const double *values, size_t count);
double bench_greatest(const double *values, size_t count);

#endif
