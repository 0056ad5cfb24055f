/*
 * stats.c -- see stats.h.
 */
#include "bench/base/stats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 128 };

bool bench_samples_reserve(bench_samples *samples, size_t more)
{
    size_t need = samples->count + more;

    if (need <= samples->room)
        return true;
    int64_t *ns = realloc(samples->ns, need * sizeof *ns);
    if (ns == NULL)
        return false;
    samples->ns   = ns;
    samples->room = need;
    return true;
}

void bench_samples_add(bench_samples *samples, int64_t ns)
{
    assert(samples->count < samples->room);
    samples->ns[samples->count++] = ns;
}

void bench_samples_free(bench_samples *samples)
{
    free(samples->ns);
    *samples = (bench_samples){ 0 };
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int64_t bench_percentile(bench_samples *samples, size_t first, unsigned per_mille)
{
    assert(first < samples->count);
    assert(per_mille >= 1 && per_mille <= 1000);

    size_t count = samples->count - first;
    qsort(samples->ns + first, count, sizeof *samples->ns, compare_times);
    size_t rank = (count * per_mille + 999) / 1000;
    return samples->ns[first + rank - 1];
}

double bench_median(const double *values, size_t count)
{
    double sorted[VALUES_MAX];

    assert(count >= 1 && count <= VALUES_MAX);
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare_values);
    if (count % 2 == 1)
        return sorted[count / 2];
    return (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double bench_least(const double *values, size_t count)
{
    assert(count >= 1);

    double least = values[0];
    for (size_t i = 1; i < count; i++)
        if (values[i] < least)
            least = values[i];
    return least;
}

double bench_greatest(const double *values, size_t count)
{
    assert(count >= 1);

    double greatest = values[0];
    for (size_t i = 1; i < count; i++)
        if (values[i] > greatest)
            greatest = values[i];
    return greatest;
}
