/*
 * test_lab.c -- the explorer's own parts: a search that is wrong finds nothing, and says so
 * proudly.
 *
 * The scenarios themselves are run by `bowline-lab run --tap`, beside this.
 */
#include "lab/scenario/table.h"
#include "lab/world/canon.h"
#include "lab/report/draw.h"
#include "lab/search/explore.h"
#include "lab/model/words.h"
#include "lab/base/token_number.h"
#include "core/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OURS = 7, THEIRS = 8, LEASE_MS = 30 };

static const bwl_search every_state = { .states_max = 1000000 };

static bwl_scenario scenario_called(const char *name)
{
    size_t i = 0;

    assert_true(bwl_scenario_find(name, &i));
    return bwl_scenario_at(i);
}

static bwl_answer ask(bwl_model_redis *r, bwl_redis_command command)
{
    bwl_model_command_args q = { .command = command, .token = OURS, .lease_ms = LEASE_MS };

    return bwl_model_redis_serve(r, &q, 0);
}

/* ---- the model server ------------------------------------------------------------------------ */

static bwl_model_redis server_with_key_of(uint16_t owner, int64_t left)
{
    bwl_model_redis r;

    bwl_model_redis_start(&r, 1000);
    r.data.keys[BWL_MODEL_LOCK] = (bwl_model_key){
        .kind    = BWL_KIND_STRING,
        .writer  = owner,
        .ends_at = r.now + left,
        .value   = BWL_MODEL_TEXT + owner,
    };
    return r;
}

static void test_model_without_a_key_only_an_acquire_sets_it(void **state)
{
    bwl_model_redis r;

    (void)state;
    bwl_model_redis_start(&r, 1000);
    assert_int_equal(ask(&r, REDIS_EXTEND_IF_MINE), BWL_NO);
    assert_int_equal(ask(&r, REDIS_DELETE_IF_MINE), BWL_NO);
    assert_int_equal(bwl_model_owner(&r), 0);
    assert_int_equal(ask(&r, REDIS_SET_IF_ABSENT), BWL_YES);
    assert_int_equal(bwl_model_owner(&r), OURS);
    assert_int_equal(bwl_model_left(&r), LEASE_MS * BWL_MODEL_PER_MS);
}

static void test_model_leaves_a_key_of_others_alone(void **state)
{
    bwl_model_redis r = server_with_key_of(THEIRS, 500);

    (void)state;
    for (unsigned command = REDIS_SET_IF_ABSENT; command <= REDIS_DELETE_IF_MINE; command++) {
        assert_int_equal(ask(&r, (bwl_redis_command)command), BWL_NO);
        assert_int_equal(bwl_model_owner(&r), THEIRS);
        assert_int_equal(bwl_model_left(&r), 500);
    }
}

static void test_model_with_our_key_answers_by_the_word(void **state)
{
    bwl_model_redis r = server_with_key_of(OURS, 500);

    (void)state;
    assert_int_equal(ask(&r, REDIS_SET_IF_ABSENT), BWL_NO);
    assert_int_equal(ask(&r, REDIS_SET_IF_ABSENT_OR_MINE), BWL_YES);
    assert_int_equal(bwl_model_left(&r), 500);
    assert_int_equal(ask(&r, REDIS_EXTEND_IF_MINE), BWL_YES);
    assert_int_equal(bwl_model_left(&r), LEASE_MS * BWL_MODEL_PER_MS);
    assert_int_equal(ask(&r, REDIS_DELETE_IF_MINE), BWL_YES);
    assert_int_equal(bwl_model_owner(&r), 0);
}

static void test_model_extension_never_brings_the_end_nearer(void **state)
{
    bwl_model_redis r = server_with_key_of(OURS, 50 * BWL_MODEL_PER_MS);

    (void)state;
    assert_int_equal(ask(&r, REDIS_EXTEND_IF_MINE), BWL_YES);
    assert_int_equal(bwl_model_left(&r), 50 * BWL_MODEL_PER_MS);
}

static void test_model_key_vanishes_when_its_time_is_over(void **state)
{
    bwl_model_redis r = server_with_key_of(OURS, 500);

    (void)state;
    bwl_model_redis_pass(&r, 499);
    assert_int_equal(bwl_model_owner(&r), OURS);
    bwl_model_redis_pass(&r, 1);
    assert_int_equal(bwl_model_owner(&r), 0);
}

/* ---- telling one world from another ---------------------------------------------------------- */

static void test_token_number_is_found_again_in_the_text(void **state)
{
    (void)state;
    for (unsigned serial = 1; serial < BWL_TOKENS_PER_CLIENT; serial += 77)
        for (unsigned chance = 0; chance < 256; chance += 5) {
            uint16_t   number = bwl_token_number(serial % BWL_CLIENTS_MAX, serial);
            bwl_random random = bwl_token_random(number, (uint8_t)chance);
            char       text[BWL_TOKEN_MAX + 1];

            bwl_token_write(text, &random);
            assert_int_equal(bwl_token_read(text), number);
        }
}

static void test_the_lab_knows_where_token_keeps_its_times(void **state)
{
    (void)state;
    assert_true(bwl_canon_knows_token());
}

static void test_the_hour_makes_no_difference(void **state)
{
    bwl_scenario   s     = scenario_called("calm");
    bwl_transition start = { .kind = BWL_TRANSITION_START };
    bwl_world      now;
    bwl_world      later;

    (void)state;
    bwl_world_start(&now, &s);
    bwl_world_start(&later, &s);
    later.now += 12345;
    bwl_world_perform(&now, start);
    bwl_world_perform(&later, start);
    assert_int_equal(bwl_world_fingerprint(&now, false), bwl_world_fingerprint(&later, false));
    assert_int_equal(bwl_world_fingerprint(&now, true), bwl_world_fingerprint(&later, true));
}

static void test_which_of_equal_clients_makes_no_difference(void **state)
{
    bwl_scenario s = scenario_called("calm");
    bwl_world    a;
    bwl_world    b;

    (void)state;
    bwl_world_start(&a, &s);
    bwl_world_start(&b, &s);
    bwl_world_perform(&a, (bwl_transition){ .kind = BWL_TRANSITION_START, .client = 0 });
    bwl_world_perform(&b, (bwl_transition){ .kind = BWL_TRANSITION_START, .client = 1 });
    assert_int_equal(bwl_world_fingerprint(&a, false), bwl_world_fingerprint(&b, false));
    assert_int_not_equal(bwl_world_fingerprint(&a, true), bwl_world_fingerprint(&b, true));
    bwl_world_perform(&b, (bwl_transition){ .kind = BWL_TRANSITION_SERVE, .client = 1 });
    assert_int_not_equal(bwl_world_fingerprint(&a, false), bwl_world_fingerprint(&b, false));
}

/* The savings of the fingerprint must not hide anything: the verdicts are the same without them. */
static void test_plain_counting_comes_to_the_same_verdict(void **state)
{
    static const char *const names[] = { "calm", "max-hold", "planted-one-token",
                                         "mutant-from-settling" };
    const bwl_search         plain   = { .states_max = 3000000, .plain = true };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bwl_scenario s    = scenario_called(names[i]);
        bwl_finding  few  = bwl_explore(&s, &every_state);
        bwl_finding  many = bwl_explore(&s, &plain);

        assert_int_equal(few.verdict, many.verdict);
        assert_int_equal(few.path_count, many.path_count);
        assert_int_equal(few.depth, many.depth);
        assert_true(few.states < many.states);
        bwl_finding_free(&few);
        bwl_finding_free(&many);
    }
}

/* ---- searching ------------------------------------------------------------------------------- */

static void test_a_small_budget_is_never_called_every_state(void **state)
{
    bwl_scenario     s     = scenario_called("calm");
    const bwl_search small = { .states_max = 100 };
    bwl_finding      found = bwl_explore(&s, &small);

    (void)state;
    assert_int_equal(found.verdict, BWL_BUDGET_REACHED);
    bwl_finding_free(&found);
}

static void test_a_path_breaks_the_invariant_at_its_end_and_not_before(void **state)
{
    bwl_scenario s     = scenario_called("planted-one-token");
    bwl_finding  found = bwl_explore(&s, &every_state);

    (void)state;
    assert_int_equal(found.verdict, BWL_BROKEN);
    assert_int_equal(bwl_path_breaks(&s, found.path, found.path_count), BWL_INVARIANT_ONE_HOLDER);
    assert_int_equal(bwl_path_breaks(&s, found.path, found.path_count - 1), 0);
    bwl_finding_free(&found);
}

static void test_the_same_seed_walks_the_same_ways(void **state)
{
    bwl_scenario     s     = scenario_called("mutant-no-is-yes");
    const bwl_search walks = { .seed = 42, .runs = 100000 };
    bwl_finding      one   = bwl_random_walk(&s, &walks);
    bwl_finding      two   = bwl_random_walk(&s, &walks);

    (void)state;
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

/* ---- telling --------------------------------------------------------------------------------- */

static void test_the_diagram_ends_with_what_broke(void **state)
{
    bwl_scenario s     = scenario_called("limit-server-forgets");
    bwl_finding  found = bwl_explore(&s, &every_state);
    char        *text  = NULL;
    size_t       size  = 0;
    FILE        *out   = open_memstream(&text, &size);

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_without_a_key_only_an_acquire_sets_it),
        cmocka_unit_test(test_model_leaves_a_key_of_others_alone),
        cmocka_unit_test(test_model_with_our_key_answers_by_the_word),
        cmocka_unit_test(test_model_extension_never_brings_the_end_nearer),
        cmocka_unit_test(test_model_key_vanishes_when_its_time_is_over),
        cmocka_unit_test(test_token_number_is_found_again_in_the_text),
        cmocka_unit_test(test_the_lab_knows_where_token_keeps_its_times),
        cmocka_unit_test(test_the_hour_makes_no_difference),
        cmocka_unit_test(test_which_of_equal_clients_makes_no_difference),
        cmocka_unit_test(test_plain_counting_comes_to_the_same_verdict),
        cmocka_unit_test(test_a_small_budget_is_never_called_every_state),
        cmocka_unit_test(test_a_path_breaks_the_invariant_at_its_end_and_not_before),
        cmocka_unit_test(test_the_same_seed_walks_the_same_ways),
        cmocka_unit_test(test_the_diagram_ends_with_what_broke),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
