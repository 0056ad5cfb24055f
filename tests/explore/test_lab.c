/*
 * test_lab.c -- the parts of the explorer: a search with a fault finds nothing and reports success.
 *
 * `bowline-lab run --tap` runs the scenarios.
 */
#include "tests/explore/scenarios.h"

#include "lib/slow_build.h"
#include "lab/world/world.h"
#include "lab/report/picture.h"
#include "lab/search/explore.h"
#include "lab/base/token_number.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static const bwl_search every_state = { .states_max = 1000000 };

/* ---- distinguishing worlds ------------------------------------------------------------------- */

TEST(token_number_is_read_back_from_its_text)
{
    for (unsigned serial = 1; serial < BWL_TOKENS_PER_CLIENT; serial += 77)
        for (unsigned chance = 0; chance < 256; chance += 5) {
            uint16_t   number = bwl_token_number(serial % BWL_CLIENTS_MAX, serial);
            bwl_random random = bwl_token_random(number, (uint8_t)chance);
            char       text[BWL_TOKEN_MAX + 1];

            bwl_token_write(text, &random);
            assert_int_equal(bwl_token_read(text), number);
        }
}

TEST(hour_makes_no_difference)
{
    bwl_scenario   s     = scenario_called("calm");
    bwl_transition start = { .kind = BWL_TRANSITION_START };
    bwl_world      now;
    bwl_world      later;

    bwl_world_start(&now, &s);
    bwl_world_start(&later, &s);
    later.now += 12345;
    bwl_world_perform(&now, start);
    bwl_world_perform(&later, start);
    assert_int_equal(bwl_world_fingerprint(&now, false), bwl_world_fingerprint(&later, false));
    assert_int_equal(bwl_world_fingerprint(&now, true), bwl_world_fingerprint(&later, true));
}

TEST(order_of_equal_clients_makes_no_difference)
{
    bwl_scenario s = scenario_called("calm");
    bwl_world    a;
    bwl_world    b;

    bwl_world_start(&a, &s);
    bwl_world_start(&b, &s);
    bwl_world_perform(&a, (bwl_transition){ .kind = BWL_TRANSITION_START, .client = 0 });
    bwl_world_perform(&b, (bwl_transition){ .kind = BWL_TRANSITION_START, .client = 1 });
    assert_int_equal(bwl_world_fingerprint(&a, false), bwl_world_fingerprint(&b, false));
    assert_int_not_equal(bwl_world_fingerprint(&a, true), bwl_world_fingerprint(&b, true));
    bwl_world_perform(&b, (bwl_transition){ .kind = BWL_TRANSITION_SERVE, .client = 1 });
    assert_int_not_equal(bwl_world_fingerprint(&a, false), bwl_world_fingerprint(&b, false));
}

/* State outside of the fingerprint hides nothing: the verdict is the same with it. */
TEST(plain_counting_gives_the_same_verdict)
{
    static const char *const names[] = { "calm", "max-hold", "planted-one-token",
                                         "mutant-from-resolving", "synced-planted-deaf",
                                         "synced-planted-alone",
                                         /* protocols with a queue */
                                         "queue-calm", "queue-silence", "queue-mutant-timer-joins",
                                         "queue-planted-barges", "queue-mutant-joins-again",
                                         "synced-queue-yields" };
    const uint32_t           max     = is_slow_build() ? 30000 : 3000000;
    const bwl_search         usual   = { .states_max = max };
    const bwl_search         plain   = { .states_max = max, .plain = true };
    unsigned                 checked = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bwl_scenario s    = scenario_called(names[i]);
        bwl_finding  few  = bwl_explore(&s, &usual);
        bwl_finding  many = bwl_explore(&s, &plain);

        if (many.verdict != BWL_BUDGET_REACHED || !is_slow_build()) {
            assert_int_equal(few.verdict, many.verdict);
            assert_int_equal(few.path_count, many.path_count);
            assert_true(few.states < many.states);
            checked++;
        }
        bwl_finding_free(&few);
        bwl_finding_free(&many);
    }
    assert_true(checked > 3);
}

/* ---- search ---------------------------------------------------------------------------------- */

TEST(path_breaks_the_invariant_at_its_end_only)
{
    bwl_scenario s     = scenario_called("planted-one-token");
    bwl_finding  found = bwl_explore(&s, &every_state);

    assert_int_equal(found.verdict, BWL_BROKEN);
    assert_int_equal(bwl_path_breaks(&s, found.path, found.path_count), BWL_INVARIANT_ONE_HOLDER);
    assert_int_equal(bwl_path_breaks(&s, found.path, found.path_count - 1), 0);
    bwl_finding_free(&found);
}

TEST(same_seed_gives_the_same_walks)
{
    bwl_scenario     s     = scenario_called("mutant-no-is-yes");
    const bwl_search walks = { .seed = 42, .runs = 100000 };
    bwl_finding      one   = bwl_random_walk(&s, &walks);
    bwl_finding      two   = bwl_random_walk(&s, &walks);

    assert_int_equal(one.verdict, BWL_BROKEN);
    assert_int_equal(one.states, two.states);
    assert_int_equal(one.path_count, two.path_count);
    assert_memory_equal(one.path, two.path, one.path_count * sizeof one.path[0]);
    assert_int_not_equal(bwl_path_breaks(&s, one.path, one.path_count), 0);
    bwl_finding_free(&two);
    two = bwl_random_walk(&s, &(bwl_search){ .seed = one.seed, .runs = 1 });
    assert_int_equal(two.verdict, BWL_BROKEN);
    assert_int_equal(two.path_count, one.path_count);
    assert_memory_equal(one.path, two.path, one.path_count * sizeof one.path[0]);
    bwl_finding_free(&one);
    bwl_finding_free(&two);
}

/* ---- reports --------------------------------------------------------------------------------- */

TEST(diagram_ends_with_the_broken_invariant)
{
    bwl_scenario s     = scenario_called("limit-server-forgets");
    bwl_finding  found = bwl_explore(&s, &every_state);
    char        *text  = NULL;
    size_t       size  = 0;
    FILE        *out   = open_memstream(&text, &size);

    assert_non_null(out);
    bwl_draw(out, "# ", &s, &found);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "RESTARTS, empty"));
    assert_non_null(strstr(text, "<== A HOLDS"));
    assert_non_null(strstr(text, "<== B HOLDS"));
    assert_non_null(strstr(text, "# => broken in 7 steps: one holder: two clients believe"));
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1)
        assert_memory_equal(line, "# ", 2);
    free(text);
    bwl_finding_free(&found);
}
