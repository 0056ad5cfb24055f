/*
 * test_articles.c -- the locks of the articles: the sound ones are sound in every state, and each
 * broken one breaks for the documented reason.
 *
 * `bowline-lab run` checks that each scenario ends as its table says.
 */
#include "tests/explore/scenarios.h"

#include "lib/slow_build.h"
#include "lab/search/explore.h"

#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 200000 };

static const bwl_search every_state = { .states_max = STATES_MAX };

static bool is_of_articles(const bwl_scenario *s)
{
    static const char *const families[] = { "setnx-", "set-nx-", "getset-" };

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strncmp(s->name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

/* The number of states.  If it changes, find out which states the lab no longer explores. */
TEST(sound_locks_keep_their_invariants_in_every_state)
{
    static const struct {
        const char *name;
        uint64_t    states;
    } sound[] = {
        { "calm", 1751 },
        { "setnx-del-calm", 692 },
        { "getset-seconds-stale", 501 },
        { "getset-jedis-stale-three", 926 },
        { "getset-server-stale", 1326 },
        { "set-nx-ex-calm", 2189 },
        { "setnx-expire-watch-calm", 487 },
        { "setnx-expire-watch-crash", 5519 },
    };

    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        bwl_scenario s     = scenario_called(sound[i].name);
        bwl_finding  found = bwl_explore(&s, &every_state);

        if (found.states != sound[i].states)
            print_error("%s has %u states\n", s.name, (unsigned)found.states);
        assert_int_equal(found.verdict, BWL_EVERY_STATE);
        assert_int_equal(found.states, sound[i].states);
        bwl_finding_free(&found);
    }
}

/* With one fault less than a broken scenario allows, it does not break. */
TEST(broken_scenarios_allow_the_fewest_faults)
{
    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);

        for (unsigned b = 1; is_of_articles(&s) && s.breaks != 0 && b < BWL_BUDGETS_COUNT; b++) {
            bwl_scenario less = s;
            if (s.budget[b] == 0)
                continue;
            less.budget[b]--;
            bwl_finding found = bwl_explore(&less, &every_state);
            if (found.verdict != BWL_EVERY_STATE)
                print_error("%s breaks with less: verdict %d\n", s.name, (int)found.verdict);
            assert_int_equal(found.verdict, BWL_EVERY_STATE);
            bwl_finding_free(&found);
        }
    }
}

/* Times and timestamps that differ only by the hour count as equal: that hides no state. */
TEST(counting_plainly_gives_the_same_verdict)
{
    const uint32_t   states_max = is_slow_build() ? STATES_MAX / 10 : STATES_MAX;
    const bwl_search usual      = { .states_max = states_max };
    const bwl_search plainly    = { .states_max = states_max, .plain = true };
    unsigned         compared   = 0;

    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        bwl_scenario s = bwl_scenario_at(i);
        if (!is_of_articles(&s) || s.rounds == BWL_ANY)
            continue;
        bwl_finding few  = bwl_explore(&s, &usual);
        bwl_finding many = bwl_explore(&s, &plainly);
        if (few.verdict != BWL_BUDGET_REACHED && many.verdict != BWL_BUDGET_REACHED) {
            assert_int_equal(few.verdict, many.verdict);
            assert_int_equal(few.path_count, many.path_count);
            assert_true(few.states <= many.states);
            compared++;
        }
        bwl_finding_free(&few);
        bwl_finding_free(&many);
    }
    assert_true(compared > 40);
}
