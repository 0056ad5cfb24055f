/*
 * test_queue_claim.c -- what the server gives to who waits, and what becomes of it.
 */
#include "queue_fixture.h"

/* ---- how much of a claim is left ------------------------------------------------------------- */

/* Given at once: counted from when we were told to wait, less what the clocks may differ. */
static void test_queue_push_in_time_is_held_before_it_is_confirmed(void **state)
{
    (void)state;
    be_queued();
    now += 800;
    pushes(FENCE, server_us());
    expect_claims(NOW + 800 - 10 + CLAIM_WORTH_MS, FENCE);
    now += 2;
    says(BWL_YES);
    expect_held(NOW + 800 + WORTH_MS, FENCE); /* counted from the confirmation's question */
}

/* ... but where replicas must have it: what is given to us was written by somebody else. */
static void test_queue_push_is_told_when_it_is_confirmed_where_replicas_count(void **state)
{
    (void)state;
    claim.replicas = 1;
    be_queued();
    now += 800;
    pushes(FENCE, server_us());
    expect_asks(REDIS_QUEUE_EXTEND);
    now += 2;
    says(BWL_YES);
    expect_held(NOW + 800 + WORTH_MS, FENCE);
}

/* A quarter of the claim is worth telling; less of it waits for the answer. */
static void test_queue_push_that_was_held_back_is_told_only_while_enough_is_left(void **state)
{
    (void)state;
    be_queued();
    now += CLAIM_WORTH_MS - CLAIM_MS / 4;
    pushes(FENCE, SERVER_US); /* given at NOW */
    expect_claims(NOW + CLAIM_WORTH_MS, FENCE);

    (void)new_machine(state);
    be_queued();
    now += CLAIM_WORTH_MS - CLAIM_MS / 4 + 1;
    pushes(FENCE, SERVER_US);
    expect_asks(REDIS_QUEUE_EXTEND);
    now += 10;
    says(BWL_YES);
    expect_held(now - 10 + WORTH_MS, FENCE);
}

/* Its claim has ended, and others have it: the next attempt keeps the place, and asks for more. */
static void test_queue_push_that_came_too_late_begins_anew_with_a_longer_claim(void **state)
{
    bwl_ms longer_ms = CLAIM_MS;

    (void)state;
    be_queued();
    for (unsigned i = 0; i < 3; i++) {
        int64_t given_us = server_us();
        now += 100000;
        pushes(FENCE, given_us);
        expect_asks(REDIS_QUEUE_EXTEND);
        says(BWL_NO);
        expect_told(BWL_ANEW);
        acquire();
        expect_asks(REDIS_QUEUE_JOIN);
        longer_ms *= 2;
        assert_int_equal(fx.asks[0].stamp, TICKET);
        assert_int_equal(fx.asks[0].claim_ms, longer_ms);
        says_queued(0);
    }
    says_queued(0);
    claim.lease_ms = 5000; /* and the lease is the most that it can be */
    pushes(FENCE, SERVER_US);
    says(BWL_NO);
    acquire();
    assert_int_equal(fx.asks[0].claim_ms, 5000);
}

/* The claim ends on the server at NOW + 500 + CLAIM_MS.  Whatever its clock does between the beat
 * and the grant, and however long the push takes: we never believe in it for longer. */
static void test_queue_server_clock_that_was_set_never_lengthens_the_claim(void **state)
{
    static const int64_t jumps_ms[] = { -3600000, -1000, -501, -500, -10,
                                        0,        1600,  2000, 9999, 3600000 };

    (void)state;
    for (unsigned i = 0; i < sizeof jumps_ms / sizeof jumps_ms[0]; i++)
        for (bwl_ms flight_ms = 0; flight_ms < 1500; flight_ms += 100) {
            (void)new_machine(state);
            be_queued();
            now += 500;
            int64_t given_us = server_us() + jumps_ms[i] * 1000;
            now += flight_ms;
            pushes(FENCE, given_us);
            assert_int_equal(fx.asks[0].word, REDIS_QUEUE_EXTEND);
            if (fx.outcome.kind == BWL_HELD)
                assert_true(fx.outcome.until <= NOW + 500 + CLAIM_WORTH_MS);
            else
                assert_int_equal(fx.outcome.kind, BWL_PENDING);
        }
}

/* A beat without an answer renews nothing: what we knew holds. */
static void test_queue_push_is_counted_from_the_last_answer(void **state)
{
    (void)state;
    be_beating();
    says_queued(0); /* of NOW + 1000 */
    now += 100;
    pushes(FENCE, server_us());
    expect_claims(NOW + 1100 - 3 + CLAIM_WORTH_MS, FENCE);

    (void)new_machine(state);
    be_beating();
    now += 100; /* the beat is out still: what is known is of NOW */
    pushes(FENCE, server_us());
    expect_claims(NOW + 1100 - 13 + CLAIM_WORTH_MS, FENCE);
}

/* Behind the same name another server may answer after a cut, by its own clock. */
static void test_queue_push_after_a_cut_is_not_counted_by_the_clock_of_before(void **state)
{
    (void)state;
    be_queued();
    connection_ends();
    now += 900;
    pushes(FENCE, server_us());
    expect_claims(NOW + CLAIM_WORTH_MS, FENCE);
}

static void test_queue_claimed_is_counted_from_before_the_question(void **state)
{
    (void)state;
    be_asked();
    now += 300;
    says_claimed();
    expect_claims(NOW + CLAIM_WORTH_MS, FENCE);

    (void)new_machine(state);
    be_beating();
    now += 300;
    says_claimed();
    expect_claims(NOW + 1000 + CLAIM_WORTH_MS, FENCE);

    (void)new_machine(state); /* too late: whoever is above us learns that this takes time */
    be_asked();
    now += 1900;
    says_claimed();
    expect_asks_and_tells(REDIS_QUEUE_EXTEND, BWL_QUEUED);
}

/* A quarter of next to nothing is nothing. */
static void test_queue_claim_that_ends_now_is_not_told(void **state)
{
    (void)state;
    claim.lease_ms = 3; /* of which 2 ms are drift */
    be_asked();
    now += 1;
    says_claimed();
    expect_asks_and_tells(REDIS_QUEUE_EXTEND, BWL_QUEUED);
}

/* The beat says nothing of when that was. */
static void test_queue_mine_is_told_only_when_it_is_confirmed(void **state)
{
    (void)state;
    be_claimed();
    now += 40;
    says(BWL_YES);
    expect_held(NOW + 1000 + WORTH_MS, FENCE);
}

/* ---- a claim of which nothing was told ------------------------------------------------------- */

static void test_queue_claim_that_is_not_ours_any_more_begins_anew(void **state)
{
    (void)state;
    be_claimed();
    says(BWL_NO);
    expect_told(BWL_ANEW);
}

/* It may be ours: that must be settled. */
static void test_queue_claim_without_a_confirmation_is_unknown(void **state)
{
    static const bwl_answer answers[] = { BWL_LATER, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        (void)new_machine(state);
        be_claimed();
        if (i < 2)
            says(answers[i]);
        else
            cut();
        expect_told(BWL_UNKNOWN);
        acquire_again();
        expect_asks(REDIS_QUEUE_BEAT);
        says_mine();
        expect_asks_and_tells(REDIS_QUEUE_EXTEND, BWL_QUEUED);
    }
}

static void test_queue_claim_whose_confirmation_is_refused(void **state)
{
    (void)state;
    be_claimed();
    says(BWL_REFUSED);
    expect_told(BWL_STORE_REFUSED);
    release();
    expect_asks(REDIS_QUEUE_CANCEL);
}

/* ---- a claim that was told ------------------------------------------------------------------- */

static void test_queue_confirmation_no_is_lost(void **state)
{
    (void)state;
    be_confirming();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

static void test_queue_confirmation_that_is_cut_is_asked_again(void **state)
{
    (void)state;
    be_confirming();
    now += 100;
    cut();
    expect_asks(REDIS_QUEUE_EXTEND);
    now += 10;
    cut();
    expect_asks(REDIS_QUEUE_EXTEND);
    says(BWL_YES);
    expect_held(NOW + 110 + WORTH_MS, FENCE);
}

/* Not at once: a store that cannot be reached says so at once. */
static void test_queue_confirmation_that_is_not_carried_out_is_asked_again_soon(void **state)
{
    static const bwl_answer answers[] = { BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        (void)new_machine(state);
        be_confirming();
        says(answers[i]);
        expect_waits(BWL_PENDING, 50);
        connection_ends();
        expect_nothing();
        now += 50;
        alarms();
        expect_asks(REDIS_QUEUE_EXTEND);
        says(BWL_YES);
        expect_held(NOW + 50 + WORTH_MS, FENCE);
    }
}

/* An extension with another lease: the confirmation's answer is not its answer. */
static void test_queue_extension_takes_the_place_of_the_confirmation(void **state)
{
    (void)state;
    be_confirming();
    claim.lease_ms = 60000;
    now += 100;
    uint32_t confirmation = asked;
    extend();
    expect_asks(REDIS_QUEUE_EXTEND);
    uint32_t extension = asked;
    asked              = confirmation;
    says(BWL_YES);
    expect_nothing();
    asked = extension;
    says(BWL_YES);
    expect_held(NOW + 100 + 60000 - 602, FENCE);

    (void)new_machine(state); /* and while none is out */
    be_confirming();
    says(BWL_UNSENT);
    extend();
    expect_asks(REDIS_QUEUE_EXTEND);
    alarms();
    expect_nothing();
}

/* What it says is final: no later question can find it ours again. */
static void test_queue_no_to_a_confirmation_counts_behind_an_extension(void **state)
{
    (void)state;
    for (unsigned answered_first = 0; answered_first < 2; answered_first++) {
        (void)new_machine(state);
        be_confirming();
        uint32_t confirmation = asked;
        extend();
        expect_asks(REDIS_QUEUE_EXTEND);
        if (answered_first) {
            says(BWL_YES);
            expect_held(NOW + WORTH_MS, FENCE);
        }
        uint32_t extension = asked;
        asked              = confirmation;
        says(BWL_NO);
        expect_told(BWL_LOST);
        says(BWL_NO);
        expect_nothing();
        asked = extension;
        says(BWL_YES);
        expect_nothing();
        cut();
        expect_nothing();
    }
}

/* ---- extending ------------------------------------------------------------------------------- */

static void test_queue_extension_is_counted_from_its_own_question(void **state)
{
    (void)state;
    be_extending();
    now += 500;
    says(BWL_YES);
    expect_held(NOW + 10000 + WORTH_MS, FENCE);
    extend();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

static void test_queue_lease_is_that_of_the_question(void **state)
{
    (void)state;
    be_held();
    claim.lease_ms = 60000;
    extend();
    claim.lease_ms = 900000; /* is asked for next */
    says(BWL_YES);
    expect_held(NOW + 60000 - 602, FENCE);

    (void)new_machine(state);
    be_asked();
    claim.lease_ms = 900000;
    says_held();
    expect_held(NOW + WORTH_MS, FENCE);
}

static void test_queue_extension_that_fails_leaves_it_as_it_was(void **state)
{
    static const struct {
        bwl_answer       answer;
        bwl_outcome_kind kind;
    } rows[] = {
        { BWL_LATER, BWL_NOT_NOW },
        { BWL_REFUSED, BWL_STORE_REFUSED },
        { BWL_UNSENT, BWL_UNREACHABLE },
    };

    (void)state;
    be_held();
    for (unsigned i = 0; i < 3; i++) {
        extend();
        says(rows[i].answer);
        expect_told(rows[i].kind);
    }
    extend();
    cut();
    expect_told(BWL_UNKNOWN);
    extend();
    says(BWL_YES);
    expect_held(NOW + WORTH_MS, FENCE);
}

/* ---- fences ---------------------------------------------------------------------------------- */

/* A confirmation and an extension tell no fence; a later answer tells no lower one. */
static void test_queue_fence_is_the_highest_of_this_token(void **state)
{
    (void)state;
    be_beating();
    says_how(BWL_YES, FENCE + 5, (bwl_place){ .how = BWL_HOW_MINE });
    cut();
    acquire_again();
    says_how(BWL_YES, FENCE + 3, (bwl_place){ .how = BWL_HOW_MINE });
    says(BWL_YES);
    expect_held(now + WORTH_MS, FENCE + 5);
    extend();
    says(BWL_YES);
    expect_held(now + WORTH_MS, FENCE + 5);

    (void)new_machine(state); /* of another attempt: the server has forgotten what it counted */
    be_claimed();
    says(BWL_NO);
    acquire();
    says_how(BWL_YES, FENCE - 8, (bwl_place){ .how = BWL_HOW_HELD });
    expect_held(now + WORTH_MS, FENCE - 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_queue_push_in_time_is_held_before_it_is_confirmed, new_machine),
        cmocka_unit_test_setup(test_queue_push_is_told_when_it_is_confirmed_where_replicas_count,
                               new_machine),
        cmocka_unit_test_setup(test_queue_push_that_was_held_back_is_told_only_while_enough_is_left,
                               new_machine),
        cmocka_unit_test_setup(test_queue_push_that_came_too_late_begins_anew_with_a_longer_claim,
                               new_machine),
        cmocka_unit_test_setup(test_queue_server_clock_that_was_set_never_lengthens_the_claim,
                               new_machine),
        cmocka_unit_test_setup(test_queue_push_is_counted_from_the_last_answer, new_machine),
        cmocka_unit_test_setup(test_queue_push_after_a_cut_is_not_counted_by_the_clock_of_before,
                               new_machine),
        cmocka_unit_test_setup(test_queue_claimed_is_counted_from_before_the_question, new_machine),
        cmocka_unit_test_setup(test_queue_claim_that_ends_now_is_not_told, new_machine),
        cmocka_unit_test_setup(test_queue_mine_is_told_only_when_it_is_confirmed, new_machine),
        cmocka_unit_test_setup(test_queue_claim_that_is_not_ours_any_more_begins_anew, new_machine),
        cmocka_unit_test_setup(test_queue_claim_without_a_confirmation_is_unknown, new_machine),
        cmocka_unit_test_setup(test_queue_claim_whose_confirmation_is_refused, new_machine),
        cmocka_unit_test_setup(test_queue_confirmation_no_is_lost, new_machine),
        cmocka_unit_test_setup(test_queue_confirmation_that_is_cut_is_asked_again, new_machine),
        cmocka_unit_test_setup(test_queue_confirmation_that_is_not_carried_out_is_asked_again_soon,
                               new_machine),
        cmocka_unit_test_setup(test_queue_extension_takes_the_place_of_the_confirmation,
                               new_machine),
        cmocka_unit_test_setup(test_queue_no_to_a_confirmation_counts_behind_an_extension,
                               new_machine),
        cmocka_unit_test_setup(test_queue_extension_is_counted_from_its_own_question, new_machine),
        cmocka_unit_test_setup(test_queue_lease_is_that_of_the_question, new_machine),
        cmocka_unit_test_setup(test_queue_extension_that_fails_leaves_it_as_it_was, new_machine),
        cmocka_unit_test_setup(test_queue_fence_is_the_highest_of_this_token, new_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
