/*
 * stats.h -- medians, percentiles and the spread of measured values.
 */
#ifndef BOWLINE_BENCH_BASE_STATS_H
#define BOWLINE_BENCH_BASE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds, in the order of measurement. */
typedef struct bench_samples {
    int64_t *ns;
    size_t   count;
    size_t   room;
} bench_samples;

/* Reserves space for `more` values. False: out of memory. Free with bench_samples_free. */
bool bench_samples_reserve(bench_samples *samples, size_t more);
void bench_samples_add(bench_samples *samples, int64_t ns); /* space must be reserved */
void bench_samples_free(bench_samples *samples);

/* The smallest value that at least per_mille thousandths of the values do not exceed (nearest
 * rank). 500 is the lower median. Reorders the values from `first` on. Needs at least one value;
 * per_mille is 1 to 1000. */
int64_t bench_percentile(bench_samples *samples, size_t first, unsigned per_mille);

/* The median: the middle value, or the mean of the two. Needs at least one value; does not
 * reorder. */
double bench_median(const double *values, size_t count);
double bench_least(const double *values, size_t count);
double bench_greatest(const double *values, size_t count);

#endif
