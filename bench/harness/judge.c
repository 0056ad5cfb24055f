/*
 * judge.c -- compares results with their goals.
 */
#include <assert.h>
#include <stdint.h>

#include "bench/base/stats.h"
#include "bench/harness/bench.h"
#include "core/core.h"

double bench_result_ratio(const bench_result *result)
{
    assert(result->was_measured);
    double median = bench_median(result->ratios, result->rounds);
    return (double)(int64_t)(median * 100 + 0.5) / 100;
}

bool bench_reaches(const bench_measure *measure, const bench_result *result, double goal)
{
    double ratio = bench_result_ratio(result);

    switch (measure->bound) {
    case BENCH_AT_MOST: return ratio <= goal;
    case BENCH_AT_LEAST: return ratio >= goal;
    case BENCH_BOUND_NONE: break;
    }
    bwl_unreachable("a measure without a bound");
}

bool bench_is_met(const bench_measure *measure, const bench_result *result)
{
    return result->was_measured && !result->is_invalid &&
           bench_reaches(measure, result, measure->goal);
}

bool bench_stretch_is_met(const bench_measure *measure, const bench_result *result)
{
    return measure->stretch > 0 && bench_is_met(measure, result) &&
           bench_reaches(measure, result, measure->stretch);
}

bench_text bench_verdict(const bench_measure *measure, const bench_result *result)
{
    if (!result->was_measured)
        return bench_text_of("not measured");
    if (!bench_is_met(measure, result))
        return bench_text_of("not met");
    if (bench_stretch_is_met(measure, result))
        return bench_text_of("met, and %.2f", measure->stretch);
    return bench_text_of("met");
}

const char *bench_bound_words(bench_bound bound)
{
    static const char *const words[] = { [BENCH_BOUND_NONE] = "",
#define X(name, said, sign) [BENCH_##name] = said,
                                         BENCH_BOUND_MAP(X)
#undef X
    };

    return words[bound];
}

const char *bench_bound_sign(bench_bound bound)
{
    static const char *const signs[] = { [BENCH_BOUND_NONE] = "",
#define X(name, said, sign) [BENCH_##name] = sign,
                                         BENCH_BOUND_MAP(X)
#undef X
    };

    return signs[bound];
}
