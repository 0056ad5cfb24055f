/*
 * test_articles.c -- the locks of the articles: the sound ones are sound in every state, and each
 * broken one breaks for the documented reason.
 *
 * `bowline-lab run` checks that each scenario ends as its table says.
 */
#include "tests/explore/scenarios.h"

#include "lib/slow_build.h"
#include "lab/scenario/lock_file.h"
#include "lab/search/explore.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 200000 };

static const bwl_search every_state = { .states_max = STATES_MAX };

enum { WORLDS_MAX = 300 };

static bool is_of_articles(const bwl_scenario *s)
{
    return strncmp(s->name, "setnx-", 6) == 0 || strncmp(s->name, "set-nx-", 7) == 0 ||
           strncmp(s->name, "getset-", 7) == 0;
}

/* The rows of the articles, and each world of each lock file. */
static size_t find_worlds(bwl_scenario ret_worlds[WORLDS_MAX])
{
    bwl_text fault[3];
    glob_t   files;
    size_t   count = 0;
    unsigned which = 0;

    for (size_t i = 0; i < bwl_scenarios_count(); i++) {
        ret_worlds[count] = bwl_scenario_at(i);
        count += is_of_articles(&ret_worlds[count]);
    }
    assert_int_equal(
        glob(bwl_say("%s/lab/locks/*.lock", getenv("BOWLINE_SOURCE")).of, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i += which == 0) {
        bwl_scenario *world = &ret_worlds[count++];
        assert_true(count <= WORLDS_MAX);
        assert_true(bwl_lock_world_find(files.gl_pathv[i], which, world, fault));
        which = (which + 1) % bwl_lock_file_worlds(world);
        if (world->breaks != 0)
            bwl_scenario_check(world, world->breaks);
    }
    globfree(&files);
    return count;
}

/* The number of states.  If it changes, find out which states the lab no longer explores. */
TEST(sound_locks_keep_their_invariants_in_every_state)
{
    static const struct {
        const char *name;
        uint64_t    states;
    } sound[] = {
        { "calm", 1751 },
        { "setnx-del-calm", 1238 },
        { "getset-seconds-stale", 601 },
        { "getset-jedis-stale-three", 926 },
        { "getset-server-stale", 1357 },
        { "set-nx-ex-calm", 3564 },
        { "setnx-expire-watch-calm", 765 },
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
TEST(broken_worlds_allow_the_fewest_faults)
{
    static bwl_scenario worlds[WORLDS_MAX];
    size_t              count = find_worlds(worlds);

    for (size_t i = 0; i < count; i++)
        for (unsigned b = 1; worlds[i].breaks != 0 && b < BWL_BUDGETS_COUNT; b++) {
            bwl_scenario less = worlds[i];
            if (less.budget[b] == 0)
                continue;
            less.budget[b]--;
            bwl_finding found = bwl_explore(&less, &every_state);
            if (found.verdict != BWL_EVERY_STATE)
                print_error("%s breaks with less: verdict %d\n", less.name, (int)found.verdict);
            assert_int_equal(found.verdict, BWL_EVERY_STATE);
            bwl_finding_free(&found);
        }
}

/* Times and timestamps that differ only by the hour count as equal: that hides no state. */
TEST(counting_plainly_gives_the_same_verdict)
{
    const uint32_t   states_max = is_slow_build() ? STATES_MAX / 10 : STATES_MAX;
    const bwl_search usual      = { .states_max = states_max };
    const bwl_search plainly    = { .states_max = states_max, .plain = true };
    unsigned         compared   = 0;

    static bwl_scenario worlds[WORLDS_MAX];
    size_t              count = find_worlds(worlds);

    for (size_t i = 0; i < count; i++) {
        bwl_scenario s = worlds[i];
        if (s.rounds == BWL_ANY)
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
    assert_true(compared > 50);
}
