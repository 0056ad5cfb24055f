/*
 * test_three.c -- `token` keeps every invariant with three clients: explored completely, not at
 * random. It takes as long as all other invariants together, so it is a program of its own.
 */
#include "tests/explore/scenarios.h"

#include "lib/slow_build.h"
#include "lab/search/explore.h"

#include <stdio.h>
#include <string.h>

enum { STATES_MAX = 8000000 };

/* Completely, all invariants that a lease can keep. */
TEST(token_with_three_clients)
{
    static const char *const names[] = { "three-loss", "three", "three-everything-once" };

    for (unsigned i = 0; i < (is_slow_build() ? 1 : sizeof names / sizeof names[0]); i++) {
        bwl_scenario s     = scenario_called(names[i]);
        bwl_finding  found = bwl_explore(
             &s, &(bwl_search){ .states_max = STATES_MAX, .memory_max = (size_t)256 << 20 });

        assert_int_equal(s.clients, 3);
        assert_int_equal(s.invariants, BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS);
        assert_int_equal(found.verdict, BWL_EVERY_STATE);
        (void)printf("# %s: %lu states, %.1f s\n", names[i], (unsigned long)found.states,
                     found.seconds);
        bwl_finding_free(&found);
    }
}
