/*
 * test_hold_time.c -- the time by which the caller of an acquire is told how it came out: the wait
 * and the time for one answer.
 *
 * The hold is on the fake protocol of hold_fixture.h; time is what the test says.
 */
#include "hold_fixture.h"

enum { SLACK_MS = 50, REPLICAS_SLACK_MS = 300 };

static void time_up(bwl_ms now)
{
    fx = (bwl_effects){ 0 };
    bwl_hold_time_up(&hold, now, &fx);
}

/* ---- no attempt after the wait, where nobody answers ----------------------------------------- */

static void test_hold_unreachable_after_the_wait_is_not_tried_again(void **state)
{
    (void)state;
    acquire(START, START + 500);
    told(BWL_UNREACHABLE, START + ANSWER_MS);
    expect(BWL_HOLD_OVER, BWL_UNREACHABLE, 0);
    assert_int_equal(fake.commands, 1);
}

static void test_hold_unreachable_at_the_end_of_the_wait_is_not_tried_again(void **state)
{
    (void)state;
    acquire(START, START + 500);
    told(BWL_UNREACHABLE, START + 500);
    expect(BWL_HOLD_OVER, BWL_UNREACHABLE, 0);
}

static void test_hold_unreachable_before_the_end_is_tried_again_at_the_end(void **state)
{
    (void)state;
    acquire(START, START + 500);
    told(BWL_UNREACHABLE, START + 499);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + 500);
    alarm_at(START + 500);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    told(BWL_HELD, START + 501);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
}

/* A server that answers late is tried once more: it answers. */
static void test_hold_busy_or_not_now_after_the_wait_is_tried_once_more(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_BUSY, BWL_NOT_NOW };

    for (unsigned i = 0; i < 2; i++) {
        (void)new_hold(state);
        acquire(START, START + 500);
        told(kinds[i], START + 700);
        expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
        alarm_at(START + 700);
        expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    }
}

/* ---- when it is told at the latest ----------------------------------------------------------- */

static void test_hold_is_told_by_the_wait_and_one_answer(void **state)
{
    (void)state;
    acquire(START, START + 500);
    assert_int_equal(bwl_hold_told_by(&hold), START + 500 + ANSWER_MS + SLACK_MS);
    told(BWL_BUSY, START + 1); /* as much in a pause */
    assert_int_equal(bwl_hold_told_by(&hold), START + 500 + ANSWER_MS + SLACK_MS);

    (void)new_hold(state);
    acquire(START, START);
    assert_int_equal(bwl_hold_told_by(&hold), START + ANSWER_MS + SLACK_MS);
    (void)new_hold(state);
    acquire(START, START - 400); /* the wait was over 400 ms ago */
    assert_int_equal(bwl_hold_told_by(&hold), START - 400 + ANSWER_MS + SLACK_MS);
}

static void test_hold_that_asks_replicas_has_time_for_them(void **state)
{
    (void)state;
    terms.replicas = 1;
    hold_on(terms);
    acquire(START, START + 500);
    assert_int_equal(bwl_hold_told_by(&hold), START + 500 + ANSWER_MS + REPLICAS_SLACK_MS);
}

static void test_hold_that_waits_for_ever_or_is_not_sought_has_no_such_time(void **state)
{
    static const bwl_hold_state not_sought[] = { BWL_HOLD_HELD, BWL_HOLD_RENEWING,
                                                 BWL_HOLD_RELEASING, BWL_HOLD_LEAVING,
                                                 BWL_HOLD_OVER };

    (void)state;
    acquire(START, BWL_NEVER);
    assert_true(bwl_hold_told_by(&hold) == BWL_NEVER);
    assert_true(bwl_hold_unsent_by(&hold) == BWL_NEVER);
    told(BWL_UNREACHABLE, START + 1);
    alarm_at(fx.wake_at);
    assert_true(bwl_hold_unsent_by(&hold) == BWL_NEVER);
    for (unsigned i = 0; i < sizeof not_sought / sizeof not_sought[0]; i++) {
        (void)new_hold(state);
        be(not_sought[i]);
        assert_true(bwl_hold_told_by(&hold) == BWL_NEVER);
        assert_true(bwl_hold_unsent_by(&hold) == BWL_NEVER);
    }
}

/* The first question has the time for one answer, however short the wait is; later ones, after one
 * that could not be sent, have the wait. */
static void test_hold_a_question_after_one_that_was_not_sent_has_the_wait(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    assert_true(bwl_hold_unsent_by(&hold) == BWL_NEVER);
    told(BWL_BUSY, START + 1);
    alarm_at(fx.wake_at);
    assert_true(bwl_hold_unsent_by(&hold) == BWL_NEVER);
    told(BWL_UNREACHABLE, START + 100);
    assert_true(bwl_hold_unsent_by(&hold) == BWL_NEVER); /* nothing is out */
    alarm_at(fx.wake_at);
    assert_int_equal(bwl_hold_unsent_by(&hold), START + WAIT_MS);
}

static void test_hold_a_question_that_settles_has_the_wait_and_one_answer_at_least(void **state)
{
    (void)state;
    be(BWL_HOLD_SETTLING);
    assert_int_equal(bwl_hold_unsent_by(&hold), START + WAIT_MS);
    (void)new_hold(state);
    acquire(START, START);
    told(BWL_UNKNOWN, START);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, BWL_ACQUIRE);
    assert_int_equal(bwl_hold_unsent_by(&hold), START + ANSWER_MS);
}

/* ---- that time has come ---------------------------------------------------------------------- */

/* Nobody knows what became of the question that is out: it is taken back, as after a cancel. */
static void test_hold_time_up_with_a_question_out_is_unknown_and_taken_back(void **state)
{
    static const bwl_hold_state asking[] = { BWL_HOLD_ACQUIRING, BWL_HOLD_SETTLING };
    bwl_ms                      by       = START + WAIT_MS + ANSWER_MS + SLACK_MS;

    for (unsigned i = 0; i < 2; i++) {
        (void)new_hold(state);
        be(asking[i]);
        assert_int_equal(bwl_hold_told_by(&hold), by);
        time_up(by);
        expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);
        told(BWL_UNKNOWN, by + 1); /* and insists, for the time of one answer */
        expect(BWL_HOLD_LEAVING, BWL_PENDING, 0);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
        told(BWL_RELEASED, by + ANSWER_MS);
        expect(BWL_HOLD_OVER, BWL_PENDING, 0);
    }
}

static void test_hold_time_up_tells_what_is_known(void **state)
{
    bwl_ms by = START + WAIT_MS + ANSWER_MS + SLACK_MS;

    (void)state;
    be(BWL_HOLD_DISCARDING); /* it came too late to be of use */
    time_up(by);
    expect(BWL_HOLD_LEAVING, BWL_NOT_NOW, BWL_RELEASE);

    (void)new_hold(state);
    be(BWL_HOLD_QUEUED);
    time_up(by);
    expect(BWL_HOLD_LEAVING, BWL_TIMED_OUT, BWL_RELEASE);

    (void)new_hold(state);
    be(BWL_HOLD_WAITING);
    time_up(by);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

static void test_hold_time_up_in_a_pause_tells_why_it_pauses(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_NOT_NOW, BWL_UNREACHABLE };

    for (unsigned i = 0; i < 2; i++) {
        (void)new_hold(state);
        acquire(START, START + WAIT_MS);
        told(kinds[i], START + 1);
        expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
        time_up(START + WAIT_MS + ANSWER_MS + SLACK_MS);
        expect(BWL_HOLD_OVER, kinds[i], 0);
    }
}

/* The release that comes before the new acquire is on its way: it needs no other. */
static void test_hold_time_up_while_yielding_is_unknown(void **state)
{
    (void)state;
    be(BWL_HOLD_YIELDING);
    time_up(START + WAIT_MS + ANSWER_MS + SLACK_MS);
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, 0);
    told(BWL_RELEASED, START + WAIT_MS + ANSWER_MS + SLACK_MS + 1);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

/* It cannot tell its own value from another's: only what is surely ours is given back. */
static void test_hold_time_up_without_settling_gives_back_what_is_surely_ours(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_HELD, BWL_BUSY, BWL_UNKNOWN };
    bwl_ms                        by      = START + WAIT_MS + ANSWER_MS + SLACK_MS;

    for (unsigned i = 0; i < 3; i++) {
        (void)new_hold(state);
        bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
        acquire(START, START + WAIT_MS);
        time_up(by);
        expect(BWL_HOLD_ABANDONING, BWL_UNKNOWN, 0);
        told(kinds[i], by + 1);
        if (kinds[i] == BWL_HELD)
            expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
        else
            expect(BWL_HOLD_OVER, BWL_PENDING, 0);
    }
}

/* ---- the time of what follows ---------------------------------------------------------------- */

/* What came too late is given back until the wait is over, and behind the caller from then on. */
static void test_hold_discards_until_the_wait_is_over(void **state)
{
    (void)state;
    be(BWL_HOLD_DISCARDING);
    told(BWL_UNKNOWN, START + WAIT_MS - 1);
    expect(BWL_HOLD_DISCARDING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + WAIT_MS);
    (void)new_hold(state);
    be(BWL_HOLD_DISCARDING);
    told(BWL_UNKNOWN, START + WAIT_MS);
    expect(BWL_HOLD_LEAVING, BWL_NOT_NOW, BWL_RELEASE);
}

/* A hold that has paused for long between its attempts. */
static void be_acquiring_after_pauses(void)
{
    acquire(START, BWL_NEVER);
    for (unsigned i = 0; i < 6; i++) {
        told(BWL_BUSY, START);
        alarm_at(fx.wake_at);
    }
}

static void test_hold_that_leaves_pauses_for_a_short_time_at_first(void **state)
{
    (void)state;
    be_acquiring_after_pauses();
    cancel(START + 2000);
    told(BWL_UNKNOWN, START + 2001);
    assert_int_equal(fx.wake_at, START + 2006);
}

static void test_hold_that_was_abandoned_insists_for_the_time_of_one_answer(void **state)
{
    (void)state;
    bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
    be_acquiring_after_pauses();
    cancel(START + 2000);
    told(BWL_HELD, START + 4000);
    expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
    told(BWL_UNREACHABLE, START + 4000 + ANSWER_MS - 10);
    expect(BWL_HOLD_LEAVING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + 4000 + ANSWER_MS - 5); /* a first pause */
    alarm_at(fx.wake_at);
    told(BWL_UNREACHABLE, START + 4000 + ANSWER_MS);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, new_hold)
        T(test_hold_unreachable_after_the_wait_is_not_tried_again),
        T(test_hold_unreachable_at_the_end_of_the_wait_is_not_tried_again),
        T(test_hold_unreachable_before_the_end_is_tried_again_at_the_end),
        T(test_hold_busy_or_not_now_after_the_wait_is_tried_once_more),
        T(test_hold_is_told_by_the_wait_and_one_answer),
        T(test_hold_that_asks_replicas_has_time_for_them),
        T(test_hold_that_waits_for_ever_or_is_not_sought_has_no_such_time),
        T(test_hold_a_question_after_one_that_was_not_sent_has_the_wait),
        T(test_hold_a_question_that_settles_has_the_wait_and_one_answer_at_least),
        T(test_hold_time_up_with_a_question_out_is_unknown_and_taken_back),
        T(test_hold_time_up_tells_what_is_known),
        T(test_hold_time_up_in_a_pause_tells_why_it_pauses),
        T(test_hold_time_up_while_yielding_is_unknown),
        T(test_hold_time_up_without_settling_gives_back_what_is_surely_ours),
        T(test_hold_discards_until_the_wait_is_over),
        T(test_hold_that_leaves_pauses_for_a_short_time_at_first),
        T(test_hold_that_was_abandoned_insists_for_the_time_of_one_answer),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
