/*
 * test_redlock.c -- one key on most of several servers, vote by vote: who gets it.
 */
#include "redlock_fixture.h"

/* ---- acquire --------------------------------------------------------------------------------- */

static void test_a_majority_is_enough_and_nobody_waits_for_the_rest(void **state)
{
    static const unsigned sizes[][2] = { { 3, 2 }, { 4, 3 }, { 5, 3 }, { 7, 4 }, { 9, 5 } };

    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        servers(sizes[i][0]);
        acquire();
        now += 40;
        first_say(0, sizes[i][1] - 1, BWL_YES);
        assert_int_equal(says(sizes[i][1] - 1, BWL_YES), BWL_HELD);
        assert_int_equal(fx.outcome.until, NOW + WORTH_MS);
        assert_int_equal(fx.outcome.fence, 0);
        nothing_else();
    }
}

static void test_a_drift_that_is_named_is_what_the_lease_is_less(void **state)
{
    (void)state;
    servers(3);
    claim.drift_ppm = 250000;
    acquire();
    first_say(0, 1, BWL_YES);
    assert_int_equal(says(1, BWL_YES), BWL_HELD);
    assert_int_equal(fx.outcome.until, NOW + LEASE_MS - 2500);
}

static void test_what_the_rest_says_later_changes_nothing(void **state)
{
    static const bwl_answer answers[] = { BWL_YES, BWL_NO, BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        hold(5);
        assert_int_equal(says(3, answers[i]), BWL_PENDING);
        nothing_else();
        assert_int_equal(goes_away(4), BWL_PENDING);
        nothing_else();
    }
}

static void test_minority_yes_is_not_a_lock(void **state)
{
    (void)state;
    servers(5);
    acquire();
    first_say(0, 2, BWL_YES);
    assert_int_equal(says(2, BWL_NO), BWL_PENDING);
    assert_int_equal(says(3, BWL_NO), BWL_PENDING);
    assert_int_equal(says(4, BWL_NO), BWL_BUSY);
}

/* Of an even number, half are enough. */
static void test_half_of_the_servers_are_enough_for_a_no(void **state)
{
    (void)state;
    servers(4);
    acquire();
    first_say(0, 1, BWL_NO);
    assert_int_equal(says(1, BWL_NO), BWL_BUSY);
}

/* As soon as a majority cannot be had; everywhere, as a server that is silent may have done it, and
 * one that said no may have another question of this token under way. */
static void test_a_majority_of_noes_is_busy_at_once_and_undone_everywhere(void **state)
{
    (void)state;
    servers(5);
    acquire();
    assert_int_equal(says(4, BWL_YES), BWL_PENDING);
    first_say(0, 2, BWL_NO);
    assert_int_equal(says(2, BWL_NO), BWL_BUSY);
    expect_all_asked(REDIS_DELETE_IF_MINE);
    assert_int_equal(says(3, BWL_YES), BWL_PENDING); /* the late one, and what deletes it */
    nothing_else();
    assert_int_equal(says(3, BWL_YES), BWL_PENDING);
    nothing_else();
}

static void test_a_server_has_one_vote(void **state)
{
    (void)state;
    servers(3);
    acquire();
    assert_int_equal(says(1, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_PENDING);
    assert_int_equal(says(7, BWL_YES), BWL_PENDING); /* there is no such server */
    assert_int_equal(says(0, BWL_YES), BWL_HELD);
}

/* The quorum is of those that are configured. */
static void test_two_of_five_that_answer_are_no_majority(void **state)
{
    static const struct {
        bwl_answer       answer;
        bwl_outcome_kind told;
    } cases[] = { { BWL_UNSENT, BWL_UNREACHABLE },
                  { BWL_LATER, BWL_NOT_NOW },
                  { BWL_REFUSED, BWL_STORE_REFUSED } };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        servers(5);
        acquire();
        first_say(0, 2, BWL_YES);
        first_say(2, 4, cases[i].answer);
        assert_int_equal(says(4, cases[i].answer), cases[i].told);
        expect_all_asked(REDIS_DELETE_IF_MINE);
    }
}

static void test_one_that_refuses_is_not_a_store_that_refuses(void **state)
{
    (void)state;
    servers(3);
    acquire();
    assert_int_equal(says(0, BWL_REFUSED), BWL_PENDING);
    assert_int_equal(says(1, BWL_LATER), BWL_NOT_NOW);
    servers(3);
    acquire();
    assert_int_equal(says(0, BWL_REFUSED), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_BUSY);
}

static void test_dead_servers_below_half_do_not_matter(void **state)
{
    (void)state;
    servers(5);
    acquire();
    assert_int_equal(says(0, BWL_UNSENT), BWL_PENDING);
    assert_int_equal(goes_away(1), BWL_PENDING);
    first_say(2, 4, BWL_YES);
    assert_int_equal(says(4, BWL_YES), BWL_HELD);
}

/* It may be ours in the store: the hold asks again, for the same token. */
static void test_no_answer_from_so_many_is_unknown(void **state)
{
    (void)state;
    servers(3);
    acquire();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(goes_away(1), BWL_PENDING);
    assert_int_equal(goes_away(2), BWL_UNKNOWN);
    nothing_else();
    now += 500;
    acquire_again();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(2, BWL_YES), BWL_HELD);
    assert_int_equal(fx.outcome.until, NOW + WORTH_MS); /* from the first question */
}

static void ask_again_without_an_answer(void)
{
    servers(3);
    acquire();
    assert_int_equal(goes_away(0), BWL_PENDING);
    assert_int_equal(says(1, BWL_LATER), BWL_UNKNOWN);
    nothing_else();
    acquire_again();
}

/* Server 2 may have the key.  A delete that is on its way there would be carried out behind what is
 * asked next, if the line breaks, and remove the key when it counts. */
static void test_nothing_is_deleted_that_may_be_asked_for_once_more(void **state)
{
    static const struct {
        bwl_answer       answer;
        bwl_outcome_kind told;
    } cases[] = { { BWL_UNSENT, BWL_UNREACHABLE },
                  { BWL_LATER, BWL_NOT_NOW },
                  { BWL_REFUSED, BWL_STORE_REFUSED } };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask_again_without_an_answer();
        assert_int_equal(says(0, cases[i].answer), BWL_PENDING);
        assert_int_equal(says(1, cases[i].answer), cases[i].told);
        nothing_else();
        assert_int_equal(says(2, BWL_YES), BWL_PENDING);
        nothing_else();
        acquire_again();
        assert_int_equal(says(2, BWL_YES), BWL_PENDING);
        assert_int_equal(says(0, BWL_YES), BWL_HELD);
        assert_int_equal(fx.outcome.until, NOW + WORTH_MS);
    }
}

/* And where the hold is done with the token, it is. */
static void test_what_is_busy_or_given_up_is_deleted_after_a_second_round_too(void **state)
{
    (void)state;
    ask_again_without_an_answer();
    assert_int_equal(says(0, BWL_NO), BWL_PENDING);
    assert_int_equal(says(1, BWL_LATER), BWL_BUSY);
    expect_all_asked(REDIS_DELETE_IF_MINE);
    ask_again_without_an_answer();
    assert_int_equal(says(0, BWL_NO), BWL_PENDING);
    assert_int_equal(says(2, BWL_YES), BWL_PENDING);
    now += 10;
    assert_int_equal(alarm_rings(), BWL_BUSY);
    expect_all_asked(REDIS_DELETE_IF_MINE);
    ask_again_without_an_answer();
    assert_int_equal(says(0, BWL_LATER), BWL_PENDING);
    assert_int_equal(says(1, BWL_LATER), BWL_NOT_NOW);
    release(); /* which expects that all are asked to delete */
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(2, BWL_YES), BWL_RELEASED);
    acquire(); /* the next attempt is none that is asked again */
    assert_int_equal(says(0, BWL_LATER), BWL_PENDING);
    assert_int_equal(says(1, BWL_LATER), BWL_NOT_NOW);
    expect_all_asked(REDIS_DELETE_IF_MINE);
}

static void test_an_answer_of_the_round_before_is_no_vote(void **state)
{
    uint32_t before;

    (void)state;
    servers(3);
    acquire();
    before = round_tag;
    assert_int_equal(goes_away(0), BWL_PENDING);
    assert_int_equal(goes_away(1), BWL_UNKNOWN);
    acquire_again();
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            happens((bwl_event){
                .kind = BWL_REPLY, .node = (uint8_t)i, .tag = before, .answer = BWL_YES }),
            BWL_PENDING);
}

/* ---- patience -------------------------------------------------------------------------------- */

static void split(unsigned attempt, bwl_ms after_ms)
{
    servers(3);
    claim.attempt = attempt;
    acquire();
    now += after_ms;
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    nothing_else();
    assert_int_equal(says(1, BWL_NO), BWL_PENDING);
    assert_int_equal(fx.asks_count, 0);
}

static void test_a_split_vote_does_not_wait_for_the_slowest(void **state)
{
    (void)state;
    split(1, 2);
    assert_int_equal(fx.wake_at, now + 10);
    now += 10;
    assert_int_equal(alarm_rings(), BWL_BUSY);
    expect_all_asked(REDIS_DELETE_IF_MINE);
    assert_int_equal(alarm_rings(), BWL_PENDING);
    nothing_else();
    assert_int_equal(says(2, BWL_YES), BWL_PENDING);
    nothing_else();
}

static void test_the_slowest_decides_if_it_comes_in_time(void **state)
{
    (void)state;
    split(1, 2);
    assert_int_equal(says(2, BWL_YES), BWL_HELD);
    assert_int_equal(alarm_rings(), BWL_PENDING);
    nothing_else();
}

/* So that a free lock is not missed for ever because the server that decides is a slow one. */
static void test_patience_is_as_long_as_it_took_and_doubles(void **state)
{
    (void)state;
    split(1, 35);
    assert_int_equal(fx.wake_at, now + 35);
    split(3, 35);
    assert_int_equal(fx.wake_at, now + 4 * 35);
    split(6, 2);
    assert_int_equal(fx.wake_at, now + 32 * 10);
    split(100, 2);
    assert_int_equal(fx.wake_at, now + 32 * 10);
}

/* It begins once, and with the answer of most: one that says no first has decided nothing. */
static void test_patience_begins_once_and_with_the_answer_of_most(void **state)
{
    (void)state;
    servers(5);
    acquire();
    assert_int_equal(says(0, BWL_NO), BWL_PENDING);
    nothing_else();
    assert_int_equal(says(1, BWL_YES), BWL_PENDING);
    nothing_else();
    assert_int_equal(alarm_rings(), BWL_PENDING);
    nothing_else();
    now += 20;
    assert_int_equal(says(2, BWL_YES), BWL_PENDING);
    assert_int_equal(fx.wake_at, now + 20);
    now += 5;
    assert_int_equal(says(3, BWL_NO), BWL_PENDING);
    nothing_else();
}

/* ... of each attempt anew. */
static void test_patience_is_over_with_its_attempt(void **state)
{
    (void)state;
    split(1, 2);
    now += 10;
    assert_int_equal(alarm_rings(), BWL_BUSY);
    acquire();
    assert_int_equal(alarm_rings(), BWL_PENDING);
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_NO), BWL_PENDING);
    assert_int_equal(fx.wake_at, now + 10);
}

/* Nobody has said no: the silent ones are all the hope there is. */
static void test_nobody_is_impatient_without_a_no(void **state)
{
    (void)state;
    servers(3);
    acquire();
    assert_int_equal(says(0, BWL_YES), BWL_PENDING);
    assert_int_equal(says(1, BWL_UNSENT), BWL_PENDING);
    nothing_else();
}

static void test_a_push_is_nothing(void **state)
{
    (void)state;
    servers(3);
    assert_int_equal(happens((bwl_event){ .kind = BWL_DOWN, .tag = 0 }), BWL_PENDING);
    acquire();
    assert_int_equal(happens((bwl_event){ .kind = BWL_PUSH, .answer = BWL_YES }), BWL_PENDING);
    nothing_else();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_majority_is_enough_and_nobody_waits_for_the_rest),
        cmocka_unit_test(test_a_drift_that_is_named_is_what_the_lease_is_less),
        cmocka_unit_test(test_what_the_rest_says_later_changes_nothing),
        cmocka_unit_test(test_minority_yes_is_not_a_lock),
        cmocka_unit_test(test_half_of_the_servers_are_enough_for_a_no),
        cmocka_unit_test(test_a_majority_of_noes_is_busy_at_once_and_undone_everywhere),
        cmocka_unit_test(test_a_server_has_one_vote),
        cmocka_unit_test(test_two_of_five_that_answer_are_no_majority),
        cmocka_unit_test(test_one_that_refuses_is_not_a_store_that_refuses),
        cmocka_unit_test(test_dead_servers_below_half_do_not_matter),
        cmocka_unit_test(test_no_answer_from_so_many_is_unknown),
        cmocka_unit_test(test_nothing_is_deleted_that_may_be_asked_for_once_more),
        cmocka_unit_test(test_what_is_busy_or_given_up_is_deleted_after_a_second_round_too),
        cmocka_unit_test(test_an_answer_of_the_round_before_is_no_vote),
        cmocka_unit_test(test_a_split_vote_does_not_wait_for_the_slowest),
        cmocka_unit_test(test_the_slowest_decides_if_it_comes_in_time),
        cmocka_unit_test(test_patience_is_as_long_as_it_took_and_doubles),
        cmocka_unit_test(test_patience_begins_once_and_with_the_answer_of_most),
        cmocka_unit_test(test_patience_is_over_with_its_attempt),
        cmocka_unit_test(test_nobody_is_impatient_without_a_no),
        cmocka_unit_test(test_a_push_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
