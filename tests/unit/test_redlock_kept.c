/*
 * test_redlock_kept.c -- one key on most of several servers: extending, healing, giving it back.
 */
#include "redlock_fixture.h"

/* ---- extend ---------------------------------------------------------------------------------- */

static void test_a_majority_extends(void **state)
{
    (void)state;
    hold(5);
    now += 3000;
    extend();
    now += 20;
    first_say(0, 2, BWL_YES);
    assert_int_equal(says(2, BWL_YES), BWL_HELD);
    assert_int_equal(fx.outcome.until, NOW + 3000 + WORTH_MS);
    nothing_else();
}

/* Only if nobody else has it there, and not before it is known that it is still ours. */
static void test_a_server_that_lost_it_gets_it_again(void **state)
{
    (void)state;
    hold(5);
    extend();
    first_say(0, 2, BWL_YES);
    assert_int_equal(says(2, BWL_NO), BWL_PENDING);
    nothing_else();
    assert_int_equal(says(3, BWL_YES), BWL_HELD);
    assert_int_equal(fx.asks_count, 1);
    assert_int_equal(fx.asks[0].word, REDIS_SET_IF_ABSENT);
    assert_int_equal(fx.asks[0].node, 2);
    assert_int_equal(says(2, BWL_YES), BWL_PENDING); /* it has it again */
    nothing_else();
    assert_int_equal(says(4, BWL_NO), BWL_PENDING); /* one that says so late, too */
    assert_int_equal(fx.asks_count, 1);
    assert_int_equal(fx.asks[0].word, REDIS_SET_IF_ABSENT);
    assert_int_equal(fx.asks[0].node, 4);
    assert_int_equal(says(4, BWL_NO), BWL_PENDING); /* somebody else has it */
    nothing_else();
}

static void test_a_server_that_gets_it_again_does_not_count_yet(void **state)
{
    (void)state;
    hold(3);
    extend();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_PENDING);
    nothing_else();
    assert_int_equal(says(1, BWL_YES), BWL_PENDING); /* nobody asked, and it has voted */
    assert_int_equal(says(2, BWL_NO), BWL_LOST);
}

static void test_a_majority_that_lost_it_is_a_loss_and_undone(void **state)
{
    (void)state;
    hold(5);
    extend();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    first_say(1, 3, BWL_NO);
    assert_int_equal(says(3, BWL_NO), BWL_LOST);
    expect_all_asked(REDIS_DELETE_IF_MINE);
    assert_int_equal(says(4, BWL_NO), BWL_PENDING); /* is not healed */
    nothing_else();
}

static void test_an_extension_without_answers_is_no_loss(void **state)
{
    (void)state;
    hold(3);
    extend();
    assert_int_equal(says(0, BWL_NO), BWL_PENDING);
    assert_int_equal(goes_away(1), BWL_UNKNOWN);
    nothing_else();
    extend();
    assert_int_equal(says(0, BWL_UNSENT), BWL_PENDING);
    assert_int_equal(says(1, BWL_UNSENT), BWL_UNREACHABLE);
    extend();
    assert_int_equal(says(0, BWL_LATER), BWL_PENDING);
    assert_int_equal(says(1, BWL_LATER), BWL_NOT_NOW);
    extend();
    assert_int_equal(says(0, BWL_REFUSED), BWL_PENDING);
    assert_int_equal(says(1, BWL_REFUSED), BWL_STORE_REFUSED);
    nothing_else();
    extend();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_YES), BWL_HELD);
}

/* ---- release --------------------------------------------------------------------------------- */

static void test_released_when_a_majority_has_deleted_it(void **state)
{
    (void)state;
    hold(5);
    release();
    first_say(0, 2, BWL_YES);
    assert_int_equal(says(2, BWL_NO), BWL_PENDING);
    assert_int_equal(says(3, BWL_YES), BWL_RELEASED);
    nothing_else();
    assert_int_equal(goes_away(4), BWL_PENDING);
    nothing_else();
}

static void test_a_release_of_what_most_do_not_have_is_a_loss(void **state)
{
    (void)state;
    hold(3);
    release();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_PENDING);
    assert_int_equal(says(2, BWL_NO), BWL_LOST);
}

/* What the first release has deleted, the second one does not find; but it was ours. */
static void test_what_was_deleted_counts_when_it_is_asked_again(void **state)
{
    (void)state;
    hold(3);
    release();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(goes_away(1), BWL_PENDING);
    assert_int_equal(goes_away(2), BWL_UNKNOWN);
    release();
    assert_int_equal(says(0, BWL_NO), BWL_PENDING);
    assert_int_equal(goes_away(2), BWL_PENDING);
    assert_int_equal(says(1, BWL_YES), BWL_RELEASED);
}

static void test_a_release_that_cannot_be_put(void **state)
{
    static const struct {
        bwl_answer       answer;
        bwl_outcome_kind told;
    } cases[] = { { BWL_UNSENT, BWL_UNREACHABLE },
                  { BWL_LATER, BWL_NOT_NOW },
                  { BWL_REFUSED, BWL_STORE_REFUSED } };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hold(3);
        release();
        assert_int_equal(says(0, cases[i].answer), BWL_PENDING);
        assert_int_equal(says(1, cases[i].answer), cases[i].told);
        nothing_else();
    }
}

static void test_one_that_is_silent_may_decide_between_released_and_lost(void **state)
{
    (void)state;
    hold(3);
    release();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_PENDING);
    assert_int_equal(goes_away(2), BWL_UNKNOWN);
}

/* As long as the servers that have not answered can still decide it, a release is not undecided. */
static void test_a_release_waits_for_those_that_can_decide_it(void **state)
{
    static const struct {
        bwl_answer       answer;
        bwl_outcome_kind told;
    } cases[] = { { BWL_YES, BWL_RELEASED }, { BWL_NO, BWL_LOST } };

    (void)state;
    for (unsigned number = 3; number <= 7; number += 2)
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            unsigned away = number / 2;
            hold(number);
            release();
            for (unsigned node = 0; node < away; node++)
                assert_int_equal(goes_away(node), BWL_PENDING);
            for (unsigned node = away; node < number - 1; node++)
                assert_int_equal(says(node, cases[i].answer), BWL_PENDING);
            assert_int_equal(says(number - 1, cases[i].answer), cases[i].told);
        }
}

/* One more without an answer, and neither is possible: that is told at once. */
static void test_a_release_is_undecided_when_none_can_decide_it(void **state)
{
    (void)state;
    hold(5);
    release();
    assert_int_equal(goes_away(0), BWL_PENDING);
    assert_int_equal(goes_away(1), BWL_PENDING);
    assert_int_equal(goes_away(2), BWL_UNKNOWN);
}

/* The hold gives up while the question is under way. */
static void test_a_release_may_interrupt(void **state)
{
    uint32_t before;

    (void)state;
    servers(3);
    acquire();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    before = round_tag;
    release();
    assert_int_equal(
        happens((bwl_event){ .kind = BWL_REPLY, .node = 1, .tag = before, .answer = BWL_YES }),
        BWL_PENDING);
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_YES), BWL_RELEASED);
}

/* What was deleted of one token says nothing of the next. */
static void test_a_new_attempt_begins_anew(void **state)
{
    (void)state;
    hold(3);
    release();
    first_say(0, 1, BWL_YES);
    assert_int_equal(says(1, BWL_YES), BWL_RELEASED);
    acquire();
    first_say(0, 1, BWL_YES);
    assert_int_equal(says(1, BWL_YES), BWL_HELD);
    assert_int_equal(fx.outcome.until, now + WORTH_MS);
    release();
    assert_int_equal(says(0, BWL_NO), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_majority_extends),
        cmocka_unit_test(test_a_server_that_lost_it_gets_it_again),
        cmocka_unit_test(test_a_server_that_gets_it_again_does_not_count_yet),
        cmocka_unit_test(test_a_majority_that_lost_it_is_a_loss_and_undone),
        cmocka_unit_test(test_an_extension_without_answers_is_no_loss),
        cmocka_unit_test(test_released_when_a_majority_has_deleted_it),
        cmocka_unit_test(test_a_release_of_what_most_do_not_have_is_a_loss),
        cmocka_unit_test(test_what_was_deleted_counts_when_it_is_asked_again),
        cmocka_unit_test(test_a_release_that_cannot_be_put),
        cmocka_unit_test(test_one_that_is_silent_may_decide_between_released_and_lost),
        cmocka_unit_test(test_a_release_waits_for_those_that_can_decide_it),
        cmocka_unit_test(test_a_release_is_undecided_when_none_can_decide_it),
        cmocka_unit_test(test_a_release_may_interrupt),
        cmocka_unit_test(test_a_new_attempt_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
