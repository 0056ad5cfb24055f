/*
 * test_queue_time.c -- when a waiter asks again, and since when what was given to him is his.
 */
#include "protocol/queue_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { AT = 1000000, SLACK_MS = 22 };

static const int64_t server = INT64_C(1700000000000000); /* what its clock showed at AT */

static bwl_random chance(unsigned number)
{
    return (bwl_random){ { (uint8_t)(number >> 8), (uint8_t)(number & 255) } };
}

/* ---- the next beat --------------------------------------------------------------------------- */

static void expect_beats_between(bwl_place place, bwl_ms least_ms, bwl_ms most_ms)
{
    bwl_ms least_seen = BWL_NEVER;
    bwl_ms most_seen  = 0;

    for (unsigned i = 0; i < 65536; i++) {
        bwl_random random  = chance(i);
        bwl_ms     beat_ms = bwl_queue_beat_ms(&place, &random);
        least_seen         = bwl_sooner(least_seen, beat_ms);
        most_seen          = beat_ms > most_seen ? beat_ms : most_seen;
    }
    assert_int_equal(least_seen, least_ms);
    assert_int_equal(most_seen, most_ms);
}

/* Not after three beats' time less one: then they would be taken for dead. */
static void test_queue_those_who_stand_behind_others_beat_slowly(void **state)
{
    (void)state;
    expect_beats_between((bwl_place){ .rank = 1, .is_ours = true, .ends = true, .left_ms = 5 },
                         1000, 2000);
    expect_beats_between((bwl_place){ .rank = UINT64_MAX }, 1000, 2000);
}

static void test_queue_the_first_in_line_beats_when_the_lease_ends(void **state)
{
    (void)state;
    expect_beats_between((bwl_place){ .is_ours = true, .ends = true, .left_ms = 400 }, 402, 402);
    expect_beats_between((bwl_place){ .is_ours = true, .ends = true, .left_ms = 0 }, 2, 2);
    expect_beats_between((bwl_place){ .is_ours = true, .ends = true, .left_ms = -1 }, 2, 2);
    expect_beats_between((bwl_place){ .is_ours = true, .ends = true, .left_ms = 998 }, 1000, 1000);
    expect_beats_between((bwl_place){ .is_ours = true, .ends = true, .left_ms = 999 }, 1000, 1000);
    expect_beats_between((bwl_place){ .is_ours = true, .ends = true, .left_ms = BWL_NEVER }, 1000,
                         1000);
}

/* A stranger deletes his key without a word to those who wait. */
static void test_queue_the_first_in_line_looks_closely_at_a_stranger(void **state)
{
    (void)state;
    expect_beats_between((bwl_place){ .ends = true, .left_ms = 5 }, 50, 250);
    expect_beats_between((bwl_place){ .is_ours = true }, 50, 250);
    expect_beats_between((bwl_place){ 0 }, 50, 250);
}

/* Who might have the lock by then is not kept waiting; nor does the slack make a waiter dead. */
static void test_queue_a_beat_may_slip_where_nothing_hangs_on_it(void **state)
{
    static const struct {
        bwl_place place;
        bool      may_slip;
    } list[] = {
        { { .rank = 1, .is_ours = true, .ends = true, .left_ms = 5 }, true },
        { { .rank = 1 }, true },
        { { .rank = UINT64_MAX }, true },
        { { .is_ours = true, .ends = true, .left_ms = BWL_NEVER }, true },
        { { .is_ours = true, .ends = true, .left_ms = 1051 }, true },
        { { .is_ours = true, .ends = true, .left_ms = 1050 }, false },
        { { .is_ours = true, .ends = true, .left_ms = 400 }, false },
        { { .is_ours = true, .ends = true, .left_ms = -1 }, false },
        { { .is_ours = true, .left_ms = 5000 }, false },
        { { .ends = true, .left_ms = 5000 }, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        assert_int_equal(bwl_queue_slack_ms(&list[i].place),
                         list[i].may_slip ? BWL_QUEUE_SLACK_MS : 0);
    assert_true(2 * BWL_QUEUE_BEAT_MS + BWL_QUEUE_SLACK_MS < 3 * BWL_QUEUE_BEAT_MS);
}

static void test_queue_what_was_not_carried_out_is_asked_again_sooner(void **state)
{
    bwl_ms least_seen = BWL_NEVER;
    bwl_ms most_seen  = 0;

    (void)state;
    for (unsigned i = 0; i < 65536; i++) {
        bwl_random random = chance(i);
        bwl_ms     ms     = bwl_queue_again_ms(&random);
        least_seen        = bwl_sooner(least_seen, ms);
        most_seen         = ms > most_seen ? ms : most_seen;
    }
    assert_int_equal(least_seen, 500);
    assert_int_equal(most_seen, 1000);
}

/* ---- since when ------------------------------------------------------------------------------ */

/* The server gave it `passed_us` after it had said where we stand; we hear of it at `now`. */
static bwl_ms given_after(int64_t passed_us, bwl_ms now)
{
    return bwl_queue_given_after((bwl_sighting){ .at = AT, .server_us = server },
                                 server + passed_us, now, SLACK_MS);
}

/* One per cent and 2 ms less than what passed there. */
static void test_queue_time_on_the_server_counts_less_the_drift(void **state)
{
    (void)state;
    assert_int_equal(given_after(1000000, AT + 60000), AT + 1000 - 12);
    assert_int_equal(given_after(10000000, AT + 60000), AT + 10000 - 102);
    assert_int_equal(given_after(50000, AT + 60000), AT + 48);
    assert_int_equal(given_after(49999, AT + 60000), AT + 47); /* 49 whole ones */
    assert_int_equal(given_after(1999, AT + 60000), AT);
    assert_int_equal(given_after(1, AT + 60000), AT);
    assert_int_equal(given_after(0, AT + 60000), AT);
}

/* However long the push was under way: what it says does not depend on when we hear it. */
static void test_queue_a_push_that_was_held_back_counts_from_when_it_was_given(void **state)
{
    (void)state;
    for (bwl_ms late_ms = 0; late_ms < 100000; late_ms += 997)
        assert_int_equal(given_after(1000000, AT + 1000 + late_ms), AT + 988);
}

static void test_queue_it_was_not_given_after_we_hear_of_it(void **state)
{
    (void)state;
    assert_int_equal(given_after(1000000, AT + 980), AT + 980); /* our clock was not looked at */
    assert_int_equal(given_after(1000000, AT + 966), AT + 966);
}

/* A clock that was set tells nothing: from the question on, which is always before. */
static void test_queue_a_clock_set_forward_is_not_believed(void **state)
{
    (void)state;
    assert_int_equal(given_after(1000000, AT + 965), AT);
    assert_int_equal(given_after(3600000000, AT + 20), AT);
    assert_int_equal(given_after(INT64_MAX - server, AT + 20), AT);
}

static void test_queue_a_clock_set_back_never_lengthens(void **state)
{
    (void)state;
    for (int64_t back_us = 1; back_us < server; back_us *= 3)
        assert_int_equal(given_after(-back_us, AT + 5000), AT);
    assert_int_equal(given_after(-server, AT + 5000), AT);
    assert_int_equal(given_after(INT64_MIN, AT + 5000), AT);
}

/* After a cut: another server may answer by this name. */
static void test_queue_a_clock_that_we_know_nothing_of_counts_from_the_question(void **state)
{
    (void)state;
    assert_int_equal(bwl_queue_given_after((bwl_sighting){ .at = AT }, server, AT + 5000, SLACK_MS),
                     AT);
    assert_int_equal(
        bwl_queue_given_after((bwl_sighting){ .at = AT }, 1000000, AT + 5000, SLACK_MS),
        AT); /* a clock that shows 1970 */
    assert_int_equal(bwl_queue_given_after((bwl_sighting){ .at = AT, .server_us = -1 }, INT64_MAX,
                                           AT + 5000, SLACK_MS),
                     AT);
}

/* Every pair of clocks whose pace differs by a hundredth at most, and every delay: never after. */
static void test_queue_two_clocks_of_unlike_pace_never_agree_on_too_late(void **state)
{
    (void)state;
    for (int pace = 990; pace <= 1010; pace++)
        for (bwl_ms flight_ms = 0; flight_ms < 20; flight_ms += 7)
            for (bwl_ms passed_ms = 0; passed_ms < 5000; passed_ms += 13)
                for (bwl_ms held_ms = 0; held_ms < 100; held_ms += 33) {
                    int64_t there_us = passed_ms * pace;
                    bwl_ms  given    = AT + flight_ms + passed_ms;
                    assert_true(given_after(there_us, given + held_ms) <= given);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_those_who_stand_behind_others_beat_slowly),
        cmocka_unit_test(test_queue_the_first_in_line_beats_when_the_lease_ends),
        cmocka_unit_test(test_queue_the_first_in_line_looks_closely_at_a_stranger),
        cmocka_unit_test(test_queue_a_beat_may_slip_where_nothing_hangs_on_it),
        cmocka_unit_test(test_queue_what_was_not_carried_out_is_asked_again_sooner),
        cmocka_unit_test(test_queue_time_on_the_server_counts_less_the_drift),
        cmocka_unit_test(test_queue_a_push_that_was_held_back_counts_from_when_it_was_given),
        cmocka_unit_test(test_queue_it_was_not_given_after_we_hear_of_it),
        cmocka_unit_test(test_queue_a_clock_set_forward_is_not_believed),
        cmocka_unit_test(test_queue_a_clock_set_back_never_lengthens),
        cmocka_unit_test(test_queue_a_clock_that_we_know_nothing_of_counts_from_the_question),
        cmocka_unit_test(test_queue_two_clocks_of_unlike_pace_never_agree_on_too_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
