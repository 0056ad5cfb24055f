/*
 * The statistics of the benchmark: an error here is in every report.
 */
#include "bench/base/stats.h"
#include "tests/lib/suite.h"

#include <stdlib.h>

static bench_samples samples_of(const int64_t *ns, size_t count)
{
    bench_samples samples = { 0 };

    assert_true(bench_samples_reserve(&samples, count));
    for (size_t i = 0; i < count; i++)
        bench_samples_add(&samples, ns[i]);
    return samples;
}

TEST(percentile_is_a_value_that_was_measured)
{
    bench_samples samples = samples_of((int64_t[]){ 50, 10, 40, 20, 30 }, 5);

    assert_int_equal(bench_percentile(&samples, 0, 500), 30);
    assert_int_equal(bench_percentile(&samples, 0, 1), 10);
    assert_int_equal(bench_percentile(&samples, 0, 200), 10);
    assert_int_equal(bench_percentile(&samples, 0, 201), 20);
    assert_int_equal(bench_percentile(&samples, 0, 990), 50);
    assert_int_equal(bench_percentile(&samples, 0, 1000), 50);
    bench_samples_free(&samples);
}

TEST(percentile_of_two_samples_is_the_lower)
{
    bench_samples two = samples_of((int64_t[]){ 7, 3 }, 2);
    bench_samples one = samples_of((int64_t[]){ -4 }, 1);

    assert_int_equal(bench_percentile(&two, 0, 500), 3);
    assert_int_equal(bench_percentile(&two, 0, 501), 7);
    for (unsigned per_mille = 1; per_mille <= 1000; per_mille++)
        assert_int_equal(bench_percentile(&one, 0, per_mille), -4);
    bench_samples_free(&two);
    bench_samples_free(&one);
}

TEST(percentile_is_given_in_thousandths)
{
    bench_samples samples = { 0 };

    /* 1 to 1000 in a mixed order: 7 and 1000 have no common factor. */
    assert_true(bench_samples_reserve(&samples, 1000));
    for (int64_t i = 0; i < 1000; i++)
        bench_samples_add(&samples, i * 7 % 1000 + 1);
    for (unsigned per_mille = 1; per_mille <= 1000; per_mille++)
        assert_int_equal(bench_percentile(&samples, 0, per_mille), per_mille);
    bench_samples_free(&samples);
}

TEST(percentile_of_a_round_does_not_see_the_rounds_before)
{
    bench_samples samples = samples_of((int64_t[]){ 1000, 2000, 9, 8, 7 }, 5);

    assert_int_equal(bench_percentile(&samples, 2, 500), 8);
    assert_int_equal(bench_percentile(&samples, 2, 1000), 9);
    assert_int_equal(samples.ns[0], 1000);
    assert_int_equal(samples.ns[1], 2000);
    assert_int_equal(bench_percentile(&samples, 0, 500), 9);
    bench_samples_free(&samples);
}

TEST(samples_are_kept_when_the_array_grows)
{
    bench_samples samples = { 0 };

    for (int64_t i = 0; i < 100; i++) {
        assert_true(bench_samples_reserve(&samples, 1));
        bench_samples_add(&samples, i);
    }
    assert_int_equal(samples.count, 100);
    for (int64_t i = 0; i < 100; i++)
        assert_int_equal(samples.ns[i], i);
    bench_samples_free(&samples);
    assert_int_equal(samples.count, 0);
    bench_samples_free(&samples);
}

TEST(median_is_the_middle_or_the_mean_of_two)
{
    assert_true(bench_median((double[]){ 3.0 }, 1) == 3.0);
    assert_true(bench_median((double[]){ 4.0, 1.0 }, 2) == 2.5);
    assert_true(bench_median((double[]){ 9.0, 1.0, 2.0 }, 3) == 2.0);
    assert_true(bench_median((double[]){ 8.0, 1.0, 2.0, 4.0 }, 4) == 3.0);
}

TEST(median_and_spread_leave_the_rounds_in_their_order)
{
    double rounds[] = { 1.5, 0.5, 2.5, -1.0 };

    assert_true(bench_median(rounds, 4) == 1.0);
    assert_true(bench_least(rounds, 4) == -1.0);
    assert_true(bench_greatest(rounds, 4) == 2.5);
    assert_true(bench_least(rounds, 1) == 1.5);
    assert_true(rounds[0] == 1.5 && rounds[1] == 0.5 && rounds[2] == 2.5 && rounds[3] == -1.0);
}
