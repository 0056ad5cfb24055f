/*
 * test_partial_order.c -- partial order reduction: fewer states, the same verdict, its assumptions.
 */
#include "tests/lib/suite.h"

#include "lib/slow_build.h"
#include "lab/scenario/table.h"
#include "lab/world/canon.h"
#include "lab/base/dice.h"
#include "lab/search/explore.h"

#include <stdio.h>

static uint32_t few_states(void)
{
    return is_slow_build() ? 20000 : 160000;
}

/* Worlds with more states than that: they take longer than all others together. */
static bool is_too_large(const bwl_scenario *s)
{
    static const char *const large[] = { "slow",
                                         "slow-at-will",
                                         "slow-at-will-waiting",
                                         "loss",
                                         "loss-twice",
                                         "loss-next-round",
                                         "loss-slow-at-will",
                                         "crash",
                                         "denial",
                                         "extend",
                                         "extend-longer",
                                         "max-hold",
                                         "clock-fast",
                                         "clock-slow",
                                         "three",
                                         "server-forgets",
                                         "server-clock-back",
                                         "server-older",
                                         "server-gives-way",
                                         "server-evicts",
                                         "fenced",
                                         "rate-apart",
                                         "restart-told",
                                         "setnx-del-late",
                                         "setnx-expire-watch-loss",
                                         "getset-server-slow" };

    for (size_t i = 0; i < COUNT_OF(large); i++)
        if (strcmp(s->name, large[i]) == 0)
            return true;
    return s->is_vast;
}

/* Whether the scenario is reduced.  With pushes it is not, and both searches are the same. */
static bool is_reduced(const bwl_scenario *s)
{
    return !s->protocol->uses_push && (s->invariants & BWL_INVARIANTS_BACKWARDS) == 0;
}

/* The table of the scenarios has the number of all states; `bowline-lab run` compares it. */
static void reduced_is_as_expected(const bwl_scenario *s)
{
    bwl_finding found =
        bwl_explore(s, &(bwl_search){ .states_max = few_states(), .reduces = true });

    if (found.verdict == BWL_BUDGET_REACHED) {
        (void)printf("# %s is too large\n", s->name);
    } else if (s->breaks != 0) {
        assert_int_equal(found.verdict, BWL_BROKEN);
        assert_int_not_equal(found.broken, 0);
        assert_true(found.path_count >= s->steps);
        assert_int_equal(bwl_path_breaks(s, found.path, found.path_count), found.broken);
    } else {
        assert_int_equal(found.verdict, BWL_EVERY_STATE);
    }
    bwl_finding_free(&found);
}

/* Every scenario that can be explored completely, in a short time. */
TEST(reduction_gives_the_same_verdict)
{
    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);

        if (!is_too_large(&s) && is_reduced(&s))
            reduced_is_as_expected(&s);
    }
}

/* The small ones, with and without the reduction. */
TEST(reduction_explores_fewer_states)
{
    enum { SMALL = 20000 };
    uint64_t all  = 0;
    uint64_t some = 0;

    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);
        bwl_finding  whole;
        bwl_finding  reduced;

        if (is_too_large(&s) || !is_reduced(&s))
            continue;
        whole = bwl_explore(&s, &(bwl_search){ .states_max = SMALL });
        if (whole.verdict != BWL_BUDGET_REACHED) {
            reduced = bwl_explore(&s, &(bwl_search){ .states_max = SMALL, .reduces = true });
            assert_int_equal(whole.verdict, reduced.verdict);
            assert_true(whole.verdict == BWL_BROKEN || reduced.states <= whole.states);
            all += whole.verdict == BWL_EVERY_STATE ? whole.states : 0;
            some += whole.verdict == BWL_EVERY_STATE ? reduced.states : 0;
            bwl_finding_free(&reduced);
        }
        bwl_finding_free(&whole);
    }
    assert_true(some < all * 95 / 100);
    (void)printf("# %lu worlds become %lu\n", (unsigned long)all, (unsigned long)some);
}

/* Does `first` and then `second`, if that is still possible. */
static bool both(const bwl_world *w, bwl_transition first, bwl_transition second, bwl_world *ret_w,
                 unsigned *ret_broken)
{
    bwl_transitions transitions;

    *ret_w = *w;
    bwl_world_perform(ret_w, first);
    *ret_broken = bwl_world_broken_invariants(ret_w);
    bwl_world_transitions(ret_w, &transitions);
    for (unsigned i = 0; i < transitions.count; i++)
        if (memcmp(&transitions.list[i], &second, sizeof second) == 0) {
            bwl_world_perform(ret_w, second);
            *ret_broken |= bwl_world_broken_invariants(ret_w);
            return true;
        }
    return false;
}

/* The assumption of a reduction: the transition that it does first and those that it defers lead to
 * the same state in either order, neither disables the other, and none hides a broken invariant. */
/* All pairs in one world.  Returns their number. */
static unsigned try_pairs(const bwl_world *w, const bwl_transitions *some,
                          const bwl_transitions *rest)
{
    for (unsigned i = 0; i < some->count; i++)
        for (unsigned j = 0; j < rest->count; j++) {
            bwl_world one;
            bwl_world two;
            unsigned  broken_one;
            unsigned  broken_two;

            assert_true(both(w, some->list[i], rest->list[j], &one, &broken_one));
            assert_true(both(w, rest->list[j], some->list[i], &two, &broken_two));
            assert_true(bwl_world_fingerprint(&one, true) == bwl_world_fingerprint(&two, true));
            assert_int_equal(broken_two & w->scenario->invariants & ~broken_one, 0);
        }
    return some->count * rest->count;
}

/* In every scenario, with a new random budget for each walk. */
TEST(deferred_transitions_commute)
{
    enum { WALKS = 200, STEPS = 60 };
    uint64_t seed  = 11;
    unsigned pairs = 0;

    for (size_t n = 0; n < bwl_scenarios_count(); n++)
        for (unsigned walk = 0; walk < WALKS && !bwl_scenario_at(n).protocol->uses_push; walk++) {
            bwl_scenario    s = bwl_scenario_at(n);
            bwl_world       w;
            bwl_transitions all;
            bwl_transitions some;
            bwl_transitions rest;

            for (unsigned i = 0; i < BWL_BUDGETS_COUNT; i++)
                s.budget[i] = (uint8_t)(s.budget[i] != 0 ? bwl_dice_draw(&seed) % 3 : 0);
            s.clients = 2 + bwl_dice_draw(&seed) % 2;
            bwl_world_start(&w, &s);
            bwl_world_transitions(&w, &all);
            for (unsigned step = 0; step < STEPS && all.count > 0; step++) {
                bwl_world_perform(&w, all.list[bwl_dice_draw(&seed) % all.count]);
                bwl_world_transitions(&w, &all);
                if (bwl_reduce(&w, &all, &some, &rest))
                    pairs += try_pairs(&w, &some, &rest);
            }
        }
    assert_true(pairs > 10000);
    (void)printf("# %u pairs of steps\n", pairs);
}
