/*
 * test_budget.c -- the least that must go wrong before an invariant breaks is found, and nothing
 * less is enough.
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

/* Every budget of one fault less does not break the invariant. */
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

TEST(a_holder_is_overtaken_by_two_slow_moments)
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

/* With ANY of it, with nothing of it, in one search for several invariants. */
TEST(each_invariant_gets_its_own_budget)
{
    bwl_smallest  least[BWL_INVARIANTS_COUNT];
    bwl_scenario  s       = scenario_called("planted-delete-blind");
    bwl_smallest *own     = &least[BWL_INVARIANT_NUMBER_OWN_KEY];
    bwl_smallest *overlap = &least[BWL_INVARIANT_NUMBER_NO_OVERLAP];
    bwl_smallest *foreign = &least[BWL_INVARIANT_NUMBER_FOREIGN];

    s.invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_FOREIGN |
                   BWL_INVARIANT_HAS_END;
    s.budget[BWL_SLOW]     = BWL_ANY;
    s.budget[BWL_STRANGER] = 1;
    bwl_smallest_budgets(&s, &search, 3, least);
    assert_true(own->is_found && overlap->is_found && foreign->is_found);
    assert_int_equal(own->faults, 1);
    assert_int_equal(own->budget[BWL_LOSS], 1);
    assert_true(own->path_count > 8); /* with two, it is 8 */
    assert_int_equal(foreign->faults, 1);
    assert_int_equal(foreign->budget[BWL_STRANGER], 1);
    assert_false(least[BWL_INVARIANT_NUMBER_HAS_END].is_found);
    assert_null(least[BWL_INVARIANT_NUMBER_HAS_END].path);
    assert_nothing_less_is_enough(s, BWL_INVARIANT_NUMBER_OWN_KEY, own->budget);
    bwl_smallest_free(least);
    assert_null(own->path);
}

TEST(what_needs_no_fault_at_all)
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

/* What a search that was cut short did not see may be there. */
TEST(a_search_that_was_cut_short_is_not_taken_for_a_no)
{
    bwl_smallest     least[BWL_INVARIANTS_COUNT];
    bwl_scenario     s   = scenario_called("limit-pause");
    const bwl_search few = { .states_max = 200 };

    bwl_smallest_budgets(&s, &few, 2, least);
    assert_false(least[BWL_INVARIANT_NUMBER_NO_OVERLAP].is_found);
    assert_true(least[BWL_INVARIANT_NUMBER_NO_OVERLAP].is_cut);
    bwl_smallest_free(least);
}
