/*
 * test_hold.c -- coming to a lock: attempts, pauses, the last look, settling what got no answer,
 * giving up, cancelling.
 *
 * On a fake protocol that tells what the test wants.  What a hold does with a lock that it has is
 * in test_hold_keep.c, every outcome in every state in test_hold_outcomes.c.
 */
#include "hold_fixture.h"

#include "protocol/protocol.h"

/* ---- attempts and pauses --------------------------------------------------------------------- */

static void test_hold_every_attempt_has_a_new_token(void **state)
{
    char tokens[20][BWL_TOKEN_MAX + 1];

    (void)state;
    acquire(START, BWL_NEVER);
    for (unsigned i = 0; i < 20; i++) {
        memcpy(tokens[i], hold.claim.token, sizeof tokens[i]);
        assert_int_equal(hold.claim.attempt, i + 1);
        assert_int_equal(hold.claim.lease_ms, LEASE_MS);
        assert_false(fake.cmd.again);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(tokens[i], tokens[j]);
        told(BWL_BUSY, START);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    }
}

static void test_hold_writes_no_token_for_a_protocol_that_uses_none(void **state)
{
    bwl_protocol bare = fake_protocol;

    (void)state;
    bare.uses_token = false;
    bwl_hold_init(&hold, &bare, 1, &terms);
    acquire(START, BWL_NEVER);
    assert_int_equal(hold.claim.attempt, 1);
    assert_string_equal(hold.claim.token, "");
    assert_true(bwl_token.uses_token);
    assert_false(bwl_ticket.uses_token);
}

static const bwl_ms longest_ms[] = { 10, 20, 40, 80, 160, 320, 500, 500, 500, 500 };
enum { PAUSES = sizeof longest_ms / sizeof longest_ms[0] };

/* The nth pause of a hold that meets this outcome again and again. */
static bwl_ms nth_pause(unsigned n, bwl_outcome_kind kind, uint16_t bits)
{
    bwl_ms now = START;

    (void)new_hold(NULL);
    acquire(now, BWL_NEVER);
    for (unsigned i = 0; i < n; i++) {
        told(kind, now);
        now = fx.wake_at;
        alarm_at(now);
    }
    chance = bits;
    told(kind, now);
    return fx.wake_at - now;
}

static void test_hold_pauses_double_up_to_half_a_second(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_BUSY, BWL_NOT_NOW, BWL_UNREACHABLE, BWL_UNKNOWN };

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned n = 0; n < PAUSES; n++) {
            bwl_ms half_ms = longest_ms[n] / 2;
            assert_int_equal(nth_pause(n, kinds[k], 0), half_ms);
            assert_int_equal(nth_pause(n, kinds[k], (uint16_t)half_ms), longest_ms[n]);
            assert_int_equal(nth_pause(n, kinds[k], (uint16_t)(half_ms + 1)), half_ms);
        }
    }
}

static void test_hold_a_random_half_of_a_pause_is_taken_off(void **state)
{
    unsigned counts[251] = { 0 };

    (void)state;
    for (unsigned bits = 0; bits < 65536; bits += 7) {
        bwl_ms pause_ms = nth_pause(6, BWL_BUSY, (uint16_t)bits);
        assert_in_range(pause_ms, 250, 500);
        counts[pause_ms - 250]++;
    }
    for (unsigned i = 0; i < 251; i++)
        assert_in_range(counts[i], 20, 60);
}

static void test_hold_pauses_are_short_again_after_a_success(void **state)
{
    (void)state;
    acquire(START, BWL_NEVER);
    for (unsigned i = 0; i < 5; i++) {
        told(BWL_BUSY, START);
        alarm_at(fx.wake_at);
    }
    told(BWL_HELD, START + 500);
    release(START + 600);
    told(BWL_UNKNOWN, START + 600);
    assert_int_equal(fx.wake_at, START + 605);
}

static void test_hold_an_alarm_before_its_time_does_nothing(void **state)
{
    (void)state;
    be(BWL_HOLD_WAITING);
    bwl_ms due = fx.wake_at;
    alarm_at(due - 1);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, due);
    assert_int_equal(fake.events, 1); /* nor does the protocol hear of it */
    alarm_at(due);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_int_equal(fx.wake_at, BWL_NEVER);
}

static void test_hold_wakes_for_itself_or_for_its_protocol_whichever_is_sooner(void **state)
{
    (void)state;
    fake.wake_at = START + 300;
    acquire(START, START + WAIT_MS);
    assert_int_equal(fx.wake_at, START + 300);
    fake.wake_at = START + 9000;
    told(BWL_QUEUED, START + 1);
    assert_int_equal(fx.wake_at, START + WAIT_MS);
    fake.wake_at = START + 400;
    happens(BWL_PUSH, START + 2);
    assert_int_equal(fx.wake_at, START + 400);
    happens(BWL_PUSH, START + 3); /* wishes for nothing: as before */
    assert_int_equal(fx.wake_at, START + 400);
    unsigned events = fake.events;
    alarm_at(START + 399);
    assert_int_equal(fake.events, events);
    alarm_at(START + 400);
    assert_int_equal(fake.events, events + 1);
    assert_int_equal(fx.wake_at, START + WAIT_MS); /* a wish is fulfilled once */
}

/* What the caller was promised, the end of his wait, slips for nobody's sake. */
static void test_hold_only_a_wish_of_its_protocol_may_slip(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    fake.slack_ms = 50;
    fake.wake_at  = START + WAIT_MS - 50;
    told(BWL_QUEUED, START + 1);
    assert_int_equal(fx.wake_at, START + WAIT_MS - 50);
    assert_int_equal(fx.wake_slack_ms, 50);
    fake.wake_at = START + WAIT_MS - 49;
    happens(BWL_PUSH, START + 2);
    assert_int_equal(fx.wake_at, START + WAIT_MS - 49);
    assert_int_equal(fx.wake_slack_ms, 0);
    fake.wake_at = START + WAIT_MS + 1;
    happens(BWL_PUSH, START + 3);
    assert_int_equal(fx.wake_at, START + WAIT_MS);
    assert_int_equal(fx.wake_slack_ms, 0);
}

static void test_hold_a_command_forgets_the_wishes_before_it(void **state)
{
    (void)state;
    be(BWL_HOLD_QUEUED);
    fake.wake_at = START + 400;
    happens(BWL_PUSH, START + 2);
    cancel(START + 3);
    expect(BWL_HOLD_LEAVING, BWL_CANCELLED, BWL_RELEASE);
    assert_int_equal(fx.wake_at, BWL_NEVER);
}

/* ---- until when ------------------------------------------------------------------------------ */

static void test_hold_waiting_ends_with_a_last_look(void **state)
{
    (void)state;
    acquire(START, START + 7);
    assert_true(fake.cmd.may_wait);
    told(BWL_BUSY, START + 3); /* a pause of 5 ms would end at 8 */
    assert_int_equal(fx.wake_at, START + 7);
    alarm_at(START + 7);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.may_wait);
    told(BWL_BUSY, START + 9);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

static void test_hold_the_last_look_may_win(void **state)
{
    (void)state;
    acquire(START, START + 7);
    told(BWL_BUSY, START + 3);
    alarm_at(START + 7);
    told(BWL_HELD, START + 100);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
}

/* An answer after the time is over is not yet the last look: that one is sent after the time. */
static void test_hold_a_late_no_is_followed_by_a_last_look(void **state)
{
    (void)state;
    acquire(START, START + 7);
    told(BWL_BUSY, START + 50);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + 7);
    alarm_at(START + 50);
    told(BWL_BUSY, START + 51);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

static void test_hold_told_not_to_wait_tries_once_and_says_busy(void **state)
{
    static const bwl_ms give_up_at[] = { START, START - 1, 1 };

    for (unsigned i = 0; i < 3; i++) {
        (void)new_hold(state);
        acquire(START, give_up_at[i]);
        assert_false(fake.cmd.may_wait);
        told(BWL_BUSY, START + 3);
        expect(BWL_HOLD_OVER, BWL_BUSY, 0);
    }
}

/* TIMED_OUT would blame the other holder for a store that did not serve. */
static void test_hold_at_the_end_says_why_it_did_not_go_well(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_NOT_NOW, BWL_UNREACHABLE };

    for (unsigned i = 0; i < 2; i++) {
        (void)new_hold(state);
        acquire(START, START + 7);
        told(BWL_BUSY, START + 1);
        alarm_at(fx.wake_at);
        told(kinds[i], START + 6);
        alarm_at(START + 7);
        told(kinds[i], START + 8);
        expect(BWL_HOLD_OVER, kinds[i], 0);
    }
}

static void test_hold_in_the_queue_leaves_when_the_time_is_over(void **state)
{
    (void)state;
    be(BWL_HOLD_QUEUED);
    assert_int_equal(fx.wake_at, START + WAIT_MS);
    alarm_at(START + WAIT_MS);
    expect(BWL_HOLD_LEAVING, BWL_TIMED_OUT, BWL_RELEASE);
    told(BWL_RELEASED, START + WAIT_MS + 1);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

static void test_hold_may_wait_for_ever(void **state)
{
    (void)state;
    acquire(START, BWL_NEVER);
    told(BWL_QUEUED, START);
    assert_int_equal(fx.wake_at, BWL_NEVER);
    happens(BWL_PUSH, START + INT64_C(1000000000000));
    told(BWL_HELD, START + INT64_C(1000000000001));
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
}

/* ---- settling -------------------------------------------------------------------------------- */

static void test_hold_settles_with_the_same_token(void **state)
{
    char token[BWL_TOKEN_MAX + 1];

    (void)state;
    acquire(START, START + WAIT_MS);
    memcpy(token, hold.claim.token, sizeof token);
    for (unsigned i = 0; i < 5; i++) {
        told(BWL_UNKNOWN, START + 10);
        expect(BWL_HOLD_SETTLING, BWL_PENDING, 0);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_SETTLING, BWL_PENDING, BWL_ACQUIRE);
        assert_true(fake.cmd.again);
        assert_string_equal(hold.claim.token, token);
        assert_int_equal(hold.claim.attempt, 1);
    }
    told(BWL_BUSY, START + 100);
    alarm_at(fx.wake_at);
    assert_false(fake.cmd.again);
    assert_string_not_equal(hold.claim.token, token);
    assert_int_equal(hold.claim.attempt, 2);
}

static void test_hold_insists_on_an_answer_even_when_told_not_to_wait(void **state)
{
    (void)state;
    acquire(START, START);
    told(BWL_UNKNOWN, START + ANSWER_MS - 1);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + ANSWER_MS); /* the pause would end later */
    alarm_at(START + ANSWER_MS);
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);
}

static void test_hold_without_an_answer_until_the_end_is_unknown_and_released(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    told(BWL_UNKNOWN, START + WAIT_MS - 1);
    assert_int_equal(fx.wake_at, START + WAIT_MS);
    alarm_at(START + WAIT_MS);
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);

    (void)new_hold(state);
    acquire(START, START + WAIT_MS);
    told(BWL_UNKNOWN, START + WAIT_MS); /* no time for another question */
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);
}

/* Whoever waits longer than a lease does not settle for ever: what might be won is worthless. */
static void test_hold_an_attempt_that_outlived_its_lease_is_discarded_for_a_new_one(void **state)
{
    char token[BWL_TOKEN_MAX + 1];

    (void)state;
    acquire(START, BWL_NEVER);
    memcpy(token, hold.claim.token, sizeof token);
    told(BWL_UNKNOWN, START + LEASE_MS - 1);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, 0);
    alarm_at(START + LEASE_MS + 4);
    expect(BWL_HOLD_DISCARDING, BWL_PENDING, BWL_RELEASE);
    assert_string_equal(hold.claim.token, token);
    told(BWL_LOST, START + LEASE_MS + 5);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.again);
    assert_string_not_equal(hold.claim.token, token);

    (void)new_hold(state);
    acquire(START, BWL_NEVER);
    told(BWL_UNKNOWN, START + LEASE_MS);
    expect(BWL_HOLD_DISCARDING, BWL_PENDING, BWL_RELEASE);
}

/* The last attempt, its lease shorter than the time for an answer: the word stays UNKNOWN. */
static void
test_hold_the_last_attempt_without_an_answer_is_unknown_also_when_discarded(void **state)
{
    (void)state;
    hold_on((bwl_terms){
        .lease_ms = 1000, .max_hold_ms = BWL_NEVER, .answer_ms = ANSWER_MS, .renews = true });
    acquire(START, START);
    told(BWL_UNKNOWN, START + 1000);
    expect(BWL_HOLD_DISCARDING, BWL_PENDING, BWL_RELEASE);
    told(BWL_UNKNOWN, START + 1001);
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);
}

/* Won, but too late to be of use. */
static void test_hold_a_yes_after_its_own_end_is_given_back(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    told_held(START + 50, START + 50);
    expect(BWL_HOLD_DISCARDING, BWL_PENDING, BWL_RELEASE);
    told(BWL_RELEASED, START + 51);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);

    (void)new_hold(state);
    acquire(START, START + WAIT_MS);
    told_held(START + 51, START + 50); /* one millisecond is one millisecond */
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(fx.outcome.until, START + 51);
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void test_hold_cancel_takes_back_what_may_be_ours(void **state)
{
    static const bwl_hold_state asking[] = {
        BWL_HOLD_ACQUIRING,
        BWL_HOLD_SETTLING,
        BWL_HOLD_DISCARDING,
        BWL_HOLD_QUEUED,
    };

    for (unsigned i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        (void)new_hold(state);
        be(asking[i]);
        cancel(START + 10);
        expect(BWL_HOLD_LEAVING, BWL_CANCELLED, BWL_RELEASE);
        told(BWL_UNKNOWN, START + 20); /* and insists */
        expect(BWL_HOLD_LEAVING, BWL_PENDING, 0);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
        told(BWL_UNKNOWN, START + 10 + ANSWER_MS); /* but not for ever */
        expect(BWL_HOLD_OVER, BWL_PENDING, 0);
    }
}

static void test_hold_cancel_between_attempts_has_nothing_to_take_back(void **state)
{
    (void)state;
    be(BWL_HOLD_WAITING);
    cancel(START + 1);
    expect(BWL_HOLD_OVER, BWL_CANCELLED, 0);
}

static void test_hold_cancel_while_pausing_to_settle_takes_back(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    told(BWL_UNKNOWN, START);
    cancel(START + 1);
    expect(BWL_HOLD_LEAVING, BWL_CANCELLED, BWL_RELEASE);
    assert_int_equal(fx.wake_at, BWL_NEVER);
}

/* ---- what a hold says of itself -------------------------------------------------------------- */

static void test_hold_knows_what_may_be_called(void **state)
{
    for (int s = BWL_HOLD_IDLE + 1; s <= BWL_HOLD_OVER; s++) {
        bool is_held = s == BWL_HOLD_HELD || s == BWL_HOLD_RENEWING;
        bool is_sought =
            (s >= BWL_HOLD_ACQUIRING && s <= BWL_HOLD_QUEUED) || s == BWL_HOLD_YIELDING;
        (void)new_hold(state);
        assert_false(bwl_hold_is_held(&hold));
        assert_false(bwl_hold_is_sought(&hold));
        be((bwl_hold_state)s);
        assert_int_equal(bwl_hold_is_held(&hold), is_held);
        assert_int_equal(bwl_hold_is_sought(&hold), is_sought);
        assert_int_equal(bwl_hold_left(&hold, START) > 0, is_held);
    }
}

static void test_hold_that_is_over_wants_nothing_any_more(void **state)
{
    static const bwl_event_kind kinds[] = { BWL_REPLY, BWL_DOWN, BWL_ALARM, BWL_PUSH };

    (void)state;
    be(BWL_HOLD_OVER);
    unsigned events = fake.events;
    for (unsigned i = 0; i < 4; i++) {
        happens(kinds[i], START + 100000);
        expect(BWL_HOLD_OVER, BWL_PENDING, 0);
    }
    assert_int_equal(fake.events, events);
}

static void test_hold_fits_every_protocol(void **state)
{
    (void)state;
    assert_true(bwl_token.state_size <= BWL_PROTOCOL_STATE_MAX);
    assert_true(bwl_ticket.state_size <= BWL_PROTOCOL_STATE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hold_every_attempt_has_a_new_token, new_hold),
        cmocka_unit_test_setup(test_hold_writes_no_token_for_a_protocol_that_uses_none, new_hold),
        cmocka_unit_test_setup(test_hold_pauses_double_up_to_half_a_second, new_hold),
        cmocka_unit_test_setup(test_hold_a_random_half_of_a_pause_is_taken_off, new_hold),
        cmocka_unit_test_setup(test_hold_pauses_are_short_again_after_a_success, new_hold),
        cmocka_unit_test_setup(test_hold_an_alarm_before_its_time_does_nothing, new_hold),
        cmocka_unit_test_setup(test_hold_wakes_for_itself_or_for_its_protocol_whichever_is_sooner,
                               new_hold),
        cmocka_unit_test_setup(test_hold_only_a_wish_of_its_protocol_may_slip, new_hold),
        cmocka_unit_test_setup(test_hold_a_command_forgets_the_wishes_before_it, new_hold),
        cmocka_unit_test_setup(test_hold_waiting_ends_with_a_last_look, new_hold),
        cmocka_unit_test_setup(test_hold_the_last_look_may_win, new_hold),
        cmocka_unit_test_setup(test_hold_a_late_no_is_followed_by_a_last_look, new_hold),
        cmocka_unit_test_setup(test_hold_told_not_to_wait_tries_once_and_says_busy, new_hold),
        cmocka_unit_test_setup(test_hold_at_the_end_says_why_it_did_not_go_well, new_hold),
        cmocka_unit_test_setup(test_hold_in_the_queue_leaves_when_the_time_is_over, new_hold),
        cmocka_unit_test_setup(test_hold_may_wait_for_ever, new_hold),
        cmocka_unit_test_setup(test_hold_settles_with_the_same_token, new_hold),
        cmocka_unit_test_setup(test_hold_insists_on_an_answer_even_when_told_not_to_wait, new_hold),
        cmocka_unit_test_setup(test_hold_without_an_answer_until_the_end_is_unknown_and_released,
                               new_hold),
        cmocka_unit_test_setup(
            test_hold_an_attempt_that_outlived_its_lease_is_discarded_for_a_new_one, new_hold),
        cmocka_unit_test_setup(
            test_hold_the_last_attempt_without_an_answer_is_unknown_also_when_discarded, new_hold),
        cmocka_unit_test_setup(test_hold_a_yes_after_its_own_end_is_given_back, new_hold),
        cmocka_unit_test_setup(test_hold_cancel_takes_back_what_may_be_ours, new_hold),
        cmocka_unit_test_setup(test_hold_cancel_between_attempts_has_nothing_to_take_back,
                               new_hold),
        cmocka_unit_test_setup(test_hold_cancel_while_pausing_to_settle_takes_back, new_hold),
        cmocka_unit_test_setup(test_hold_knows_what_may_be_called, new_hold),
        cmocka_unit_test_setup(test_hold_that_is_over_wants_nothing_any_more, new_hold),
        cmocka_unit_test_setup(test_hold_fits_every_protocol, new_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
