/*
 * test_queue.c -- a lock with a queue on a Redis server, question by question: coming to it.
 *
 * test_queue_claim.c has what a claim becomes, test_queue_release.c how it is left.
 */
#include "queue_fixture.h"

/* ---- the first question ---------------------------------------------------------------------- */

static void test_queue_free_is_held_and_counted_from_before_the_question(void **state)
{
    (void)state;
    acquire();
    expect_asks(REDIS_QUEUE_JOIN);
    assert_int_equal(fx.asks[0].stamp, 0);
    assert_int_equal(fx.asks[0].claim_ms, CLAIM_MS);
    now += 5000;
    says_held();
    expect_held(NOW + WORTH_MS, FENCE);
}

static void test_queue_who_does_not_wait_takes_it_or_is_told_busy(void **state)
{
    (void)state;
    look_only();
    expect_asks(REDIS_QUEUE_TAKE);
    says_held();
    expect_held(NOW + WORTH_MS, FENCE);

    (void)new_machine(state);
    look_only();
    says_how(BWL_NO, 0, (bwl_place){ .how = BWL_HOW_BUSY, .is_ours = true });
    expect_told(BWL_BUSY);
}

/* It is not in line, and is told so at once: a pause and another try would be a line beside it. */
static void test_queue_who_may_not_wait_is_told_that_it_is_full(void **state)
{
    (void)state;
    acquire();
    says_how(BWL_NO, 0, (bwl_place){ .how = BWL_HOW_FULL, .rank = 50 });
    expect_told(BWL_FULL);
}

static void test_queue_what_was_not_carried_out_is_told_as_such(void **state)
{
    static void (*const get_there[])(void) = { acquire, look_only, be_settling };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        (void)new_machine(state);
        get_there[i]();
        says(BWL_LATER);
        expect_told(BWL_NOT_NOW);
        (void)new_machine(state);
        get_there[i]();
        says(BWL_REFUSED);
        expect_told(BWL_STORE_REFUSED);
        (void)new_machine(state);
        get_there[i]();
        says(BWL_UNSENT);
        expect_told(BWL_UNREACHABLE);
        (void)new_machine(state);
        get_there[i]();
        cut();
        expect_told(BWL_UNKNOWN);
        cut();
        expect_nothing(); /* told once */
    }
}

/* A claim that lasted longer than the lease would promise more than was asked for. */
static void test_queue_claim_is_a_lease_at_most(void **state)
{
    (void)state;
    claim.lease_ms = 500;
    acquire();
    assert_int_equal(fx.asks[0].claim_ms, 500);
}

/* ---- settling -------------------------------------------------------------------------------- */

/* JOIN is asked once: asked again, it could stand in line twice. */
static void test_queue_without_an_answer_looks_what_became_of_it(void **state)
{
    (void)state;
    be_settling();
    says_queued(3);
    expect_waits(BWL_QUEUED, 1000);

    (void)new_machine(state);
    be_settling();
    says_gone();
    expect_told(BWL_ANEW);

    (void)new_machine(state);
    be_settling();
    says_claimed();
    expect_claims(NOW + CLAIM_WORTH_MS, FENCE);

    (void)new_machine(state);
    be_settling();
    says_mine();
    expect_asks_and_tells(REDIS_QUEUE_EXTEND, BWL_QUEUED);
}

/* Who does not wait is told nothing of a line, and looks again without one. */
static void test_queue_take_without_an_answer_looks_what_became_of_it(void **state)
{
    (void)state;
    look_only();
    cut();
    expect_told(BWL_UNKNOWN);
    command((bwl_command){ .verb = BWL_ACQUIRE, .again = true });
    expect_asks(REDIS_QUEUE_BEAT);
    says_mine();
    expect_asks(REDIS_QUEUE_EXTEND);
    now += 30;
    says(BWL_YES);
    expect_held(NOW + WORTH_MS, FENCE);
}

/* ---- in line --------------------------------------------------------------------------------- */

static void test_queue_in_line_beats_and_is_told_nothing_new(void **state)
{
    (void)state;
    be_queued();
    for (unsigned i = 0; i < 3; i++) {
        now += 1000;
        alarms();
        expect_asks(REDIS_QUEUE_BEAT);
        assert_int_equal(fx.asks[0].claim_ms, CLAIM_MS);
        alarms(); /* one at a time */
        expect_nothing();
        says_queued(0);
        expect_waits(BWL_PENDING, 1000);
        assert_int_equal(fx.wake_slack_ms, 50);
    }
}

/* A server that is loading, or refuses: whoever waits keeps his place. */
static void test_queue_beat_that_is_not_carried_out_is_told_to_nobody(void **state)
{
    static const bwl_answer answers[] = { BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        (void)new_machine(state);
        be_beating();
        says(answers[i]);
        expect_waits(BWL_PENDING, 500);
        now += 500;
        alarms();
        expect_asks(REDIS_QUEUE_BEAT);
    }
}

/* The new connection has a new inbox, and BEAT says which. */
static void test_queue_in_line_when_the_connection_ends_beats_at_once(void **state)
{
    (void)state;
    be_queued();
    connection_ends();
    expect_asks(REDIS_QUEUE_BEAT);
    connection_ends(); /* that question is of the next one, and will hear of its end by itself */
    expect_nothing();
    says_queued(0);
    expect_waits(BWL_PENDING, 1000);

    (void)new_machine(state);
    be_beating();
    connection_ends();
    expect_nothing();
    cut();
    expect_asks(REDIS_QUEUE_BEAT);
    connection_ends();
    expect_nothing();
}

static void test_queue_place_that_is_gone_begins_anew_with_the_old_ticket(void **state)
{
    (void)state;
    be_beating();
    says_gone();
    expect_told(BWL_ANEW);
    acquire();
    expect_asks(REDIS_QUEUE_JOIN);
    assert_int_equal(fx.asks[0].stamp, TICKET);
    assert_int_equal(fx.asks[0].claim_ms, CLAIM_MS); /* no claim of ours was too late */
    cut();
    acquire_again();
    says_gone();
    acquire();
    assert_int_equal(fx.asks[0].stamp, TICKET);
}

/* ---- what nobody asked for ------------------------------------------------------------------- */

static void test_queue_answers_to_other_questions_are_ignored(void **state)
{
    static void (*const get_there[])(void) = { be_asked,   be_settling,   be_queued,    be_beating,
                                               be_claimed, be_confirming, be_extending, be_held };

    (void)state;
    for (unsigned i = 0; i < sizeof get_there / sizeof get_there[0]; i++) {
        (void)new_machine(state);
        get_there[i]();
        uint32_t latest = asked;
        for (asked = latest - 1; asked <= latest + 1; asked += 2) {
            if (asked == 0)
                continue; /* of no question: the connection has ended */
            says_held();
            expect_nothing();
            says_gone();
            expect_nothing();
            cut();
            expect_nothing();
        }
    }
}

/* The end of a connection is news only to who stands in line. */
static void test_queue_end_of_the_connection_elsewhere_means_nothing(void **state)
{
    static void (*const get_there[])(void) = { be_asked,      be_settling,  be_claimed,
                                               be_confirming, be_extending, be_held };

    (void)state;
    connection_ends();
    expect_nothing();
    for (unsigned i = 0; i < sizeof get_there / sizeof get_there[0]; i++) {
        (void)new_machine(state);
        get_there[i]();
        connection_ends();
        expect_nothing();
    }
}

static void test_queue_pushes_and_alarms_elsewhere_mean_nothing(void **state)
{
    static void (*const get_there[])(void) = { be_asked,      be_settling,  be_claimed,
                                               be_confirming, be_extending, be_held };

    (void)state;
    pushes(FENCE, server_us());
    expect_nothing();
    for (unsigned i = 0; i < sizeof get_there / sizeof get_there[0]; i++) {
        (void)new_machine(state);
        get_there[i]();
        pushes(FENCE + 1, server_us());
        expect_nothing();
        alarms();
        expect_nothing();
    }
}

static void test_queue_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(bwl_queue.name, "queue");
    assert_null(bwl_queue.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_queue_free_is_held_and_counted_from_before_the_question,
                               new_machine),
        cmocka_unit_test_setup(test_queue_who_does_not_wait_takes_it_or_is_told_busy, new_machine),
        cmocka_unit_test_setup(test_queue_who_may_not_wait_is_told_that_it_is_full, new_machine),
        cmocka_unit_test_setup(test_queue_what_was_not_carried_out_is_told_as_such, new_machine),
        cmocka_unit_test_setup(test_queue_claim_is_a_lease_at_most, new_machine),
        cmocka_unit_test_setup(test_queue_without_an_answer_looks_what_became_of_it, new_machine),
        cmocka_unit_test_setup(test_queue_take_without_an_answer_looks_what_became_of_it,
                               new_machine),
        cmocka_unit_test_setup(test_queue_in_line_beats_and_is_told_nothing_new, new_machine),
        cmocka_unit_test_setup(test_queue_beat_that_is_not_carried_out_is_told_to_nobody,
                               new_machine),
        cmocka_unit_test_setup(test_queue_in_line_when_the_connection_ends_beats_at_once,
                               new_machine),
        cmocka_unit_test_setup(test_queue_place_that_is_gone_begins_anew_with_the_old_ticket,
                               new_machine),
        cmocka_unit_test_setup(test_queue_answers_to_other_questions_are_ignored, new_machine),
        cmocka_unit_test_setup(test_queue_end_of_the_connection_elsewhere_means_nothing,
                               new_machine),
        cmocka_unit_test_setup(test_queue_pushes_and_alarms_elsewhere_mean_nothing, new_machine),
        cmocka_unit_test(test_queue_has_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
