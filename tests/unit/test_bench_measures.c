/*
 * Which measures a run takes: all short ones, or those that the options name.
 */

#include "bench/harness/bench.h"
#include "bench/measure/measures.h"
#include "tests/lib/suite.h"

static bool is_wanted(const char *name, bench_settings s)
{
    for (size_t i = 0; i < bench_measures_count; i++)
        if (strcmp(bench_measures[i].name, name) == 0)
            return bench_measure_is_wanted(&bench_measures[i], &s);
    fail_msg("there is no measure %s", name);
    return false;
}

TEST(long_measures_run_only_when_named)
{
    const char *const longs[] = { "takeover", "waiters-16", "waiters-1000", "idle-cpu",
                                  "million-bytes" };

    assert_true(is_wanted("pair-P", (bench_settings){ .only = NULL }));
    for (size_t i = 0; i < COUNT_OF(longs); i++) {
        assert_false(is_wanted(longs[i], (bench_settings){ .only = NULL }));
        assert_true(is_wanted(longs[i], (bench_settings){ .wants_long = true }));
    }
}

TEST(named_measures_are_the_only_ones)
{
    bench_settings s = { .only = "pair-P,waiters" };

    for (unsigned i = 0; i < 2; i++) {
        s.wants_long = i == 1;
        assert_true(is_wanted("pair-P", s));
        assert_false(is_wanted("pair-S", s));
        assert_true(is_wanted("waiters-16", s));
        assert_true(is_wanted("waiters-fairness-128", s));
        assert_false(is_wanted("takeover", s));
    }
}

TEST(every_measure_has_a_goal_and_a_function)
{
    for (size_t i = 0; i < bench_measures_count; i++) {
        const bench_measure *m = &bench_measures[i];
        assert_true(m->bound == BENCH_AT_MOST || m->bound == BENCH_AT_LEAST);
        assert_true(m->goal > 0);
        assert_true(m->regime != 0 && m->unit != 0);
        assert_non_null(m->run);
        assert_true(strlen(m->ours) > 0 && strlen(m->theirs) > 0 && strlen(m->means) > 0);
    }
}
