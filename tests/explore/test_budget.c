/*
 * test_budget.c -- the search finds the smallest number of faults that breaks an invariant.
 */
#include "tests/explore/scenarios.h"

#include "lab/search/explore.h"

#include <string.h>

static const bwl_search search = { .states_max = 400000 };

static unsigned sum_of(const uint8_t *budget)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < BWL_BUDGETS_COUNT; i++)
        sum += budget[i];
    return sum;
}

/* No budget with one fault less breaks the invariant. */
static void assert_nothing_less_is_enough(bwl_scenario s, unsigned invariant, const uint8_t *budget)
{
    for (unsigned i = 0; i < BWL_BUDGETS_COUNT; i++) {
        bwl_finding found;

        if (budget[i] == 0)
            continue;
        memcpy(s.budget, budget, sizeof s.budget);
        s.budget[i]--;
        s.invariants = 1u << invariant;
        found        = bwl_explore(&s, &search);
        assert_int_equal(found.verdict, BWL_EVERY_STATE);
        bwl_finding_free(&found);
    }
}

TEST(two_slow_moments_break_one_holder)
{
    bwl_smallest  least[BWL_INVARIANTS_COUNT];
    bwl_scenario  s       = scenario_called("limit-pause");
    bwl_smallest *overlap = &least[BWL_INVARIANT_NUMBER_NO_OVERLAP];

    s.invariants        = BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_ONE_HOLDER;
    s.budget[BWL_LOSS]  = 1;
    s.budget[BWL_CRASH] = 1;
    bwl_smallest_budgets(&s, &search, 3, least);
    assert_true(overlap->is_found);
    assert_false(overlap->is_cut);
    assert_int_equal(overlap->faults, sum_of(overlap->budget));
    assert_int_equal(overlap->budget[BWL_SLOW], overlap->faults);
    memcpy(s.budget, overlap->budget, sizeof s.budget);
    assert_int_equal(bwl_path_breaks(&s, overlap->path, overlap->path_count),
                     BWL_INVARIANT_NO_OVERLAP);
    assert_nothing_less_is_enough(s, BWL_INVARIANT_NUMBER_NO_OVERLAP, overlap->budget);
    assert_false(least[BWL_INVARIANT_NUMBER_ONE_HOLDER].is_found);
    assert_true(least[BWL_INVARIANT_NUMBER_ONE_HOLDER].states > overlap->states);
    bwl_smallest_free(least);
}

/* With a budget of ANY, and with none, in one search for several invariants. */
TEST(each_invariant_has_its_own_smallest_budget)
{
    bwl_smallest  least[BWL_INVARIANTS_COUNT];
    bwl_scenario  s       = scenario_called("planted-delete-blind");
    bwl_smallest *own     = &least[BWL_INVARIANT_NUMBER_OWN_KEY];
    bwl_smallest *overlap = &least[BWL_INVARIANT_NUMBER_NO_OVERLAP];
    bwl_smallest *foreign = &least[BWL_INVARIANT_NUMBER_FOREIGN];

    s.invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_FOREIGN |
                   BWL_INVARIANT_HAS_END;
    s.budget[BWL_SLOW]         = BWL_ANY;
    s.budget[BWL_FOREIGN_LOCK] = 1;
    bwl_smallest_budgets(&s, &search, 3, least);
    assert_true(own->is_found && overlap->is_found && foreign->is_found);
    assert_int_equal(own->faults, 1);
    assert_int_equal(own->budget[BWL_LOSS], 1);
    assert_true(own->path_count > 8); /* with two faults, it is 8 */
    assert_int_equal(foreign->faults, 1);
    assert_int_equal(foreign->budget[BWL_FOREIGN_LOCK], 1);
    assert_false(least[BWL_INVARIANT_NUMBER_HAS_END].is_found);
    assert_null(least[BWL_INVARIANT_NUMBER_HAS_END].path);
    assert_nothing_less_is_enough(s, BWL_INVARIANT_NUMBER_OWN_KEY, own->budget);
    bwl_smallest_free(least);
    assert_null(own->path);
}

TEST(invariant_that_breaks_without_a_fault_has_budget_zero)
{
    bwl_smallest least[BWL_INVARIANTS_COUNT];
    bwl_scenario s = scenario_called("planted-set-overwrites");

    s.budget[BWL_LOSS] = 1;
    bwl_smallest_budgets(&s, &search, 1, least);
    assert_true(least[BWL_INVARIANT_NUMBER_ONE_HOLDER].is_found);
    assert_int_equal(least[BWL_INVARIANT_NUMBER_ONE_HOLDER].faults, 0);
    assert_int_equal(least[BWL_INVARIANT_NUMBER_ONE_HOLDER].path_count, 6);
    bwl_smallest_free(least);
}

/* A search that was cut short may have missed states. */
TEST(search_that_was_cut_short_proves_no_smaller_budget)
{
    bwl_smallest     least[BWL_INVARIANTS_COUNT];
    bwl_scenario     s   = scenario_called("limit-pause");
    const bwl_search few = { .states_max = 200 };

    bwl_smallest_budgets(&s, &few, 2, least);
    assert_false(least[BWL_INVARIANT_NUMBER_NO_OVERLAP].is_found);
    assert_true(least[BWL_INVARIANT_NUMBER_NO_OVERLAP].is_cut);
    bwl_smallest_free(least);
}
