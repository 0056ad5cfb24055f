/*
 * test_hold_anew.c -- a hold on a protocol whose store keeps the queue: attempts that end without
 * a no, a lock that turns out to be ours for longer, settling that no lease ends.
 */
#include "hold_fixture.h"

/* As fake_protocol, and it listens. */
static const bwl_protocol listening_protocol = {
    .name       = "listening",
    .state_size = 8,
    .uses_token = true,
    .extends    = true,
    .settles    = true,
    .listens    = true,
    .init       = fake_init,
    .command    = fake_command,
    .event      = fake_event,
};

/* Nobody is left alone for a back-off: others would pass us. */
static void test_hold_anew_is_tried_at_once_with_a_new_token(void **state)
{
    char first[BWL_TOKEN_MAX + 1];

    (void)state;
    be(BWL_HOLD_QUEUED);
    memcpy(first, hold.claim.token, sizeof first);
    chance = 65535; /* as long as a pause can be */
    for (bwl_ms now = START; now < START + 100; now += 10) {
        told(BWL_ANEW, now);
        expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
        assert_int_equal(fx.wake_at, now + 1);
        alarm_at(now + 1);
        expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
        assert_true(fake.cmd.may_wait);
        assert_false(fake.cmd.again);
        assert_string_not_equal(hold.claim.token, first);
    }
    assert_int_equal(hold.claim.attempt, 11);
}

/* What is told ANEW has left nothing behind: there is nothing to take back. */
static void test_hold_anew_and_cancelled_is_over(void **state)
{
    (void)state;
    be(BWL_HOLD_QUEUED);
    told(BWL_ANEW, START);
    cancel(START);
    expect(BWL_HOLD_OVER, BWL_CANCELLED, 0);
}

static void test_hold_anew_when_the_wait_is_over_looks_once_more(void **state)
{
    (void)state;
    be(BWL_HOLD_QUEUED);
    told(BWL_ANEW, START + WAIT_MS - 1);
    alarm_at(START + WAIT_MS);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.may_wait);
    told(BWL_BUSY, START + WAIT_MS + 1);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

/* The last attempt begins when the wait is over: so its answer is not insisted on beyond that. */
static void test_hold_anew_at_the_end_of_the_wait_does_not_pause(void **state)
{
    (void)state;
    be(BWL_HOLD_QUEUED);
    told(BWL_ANEW, START + WAIT_MS);
    assert_int_equal(fx.wake_at, START + WAIT_MS);
    alarm_at(START + WAIT_MS);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.may_wait);
    assert_int_equal(hold.answer_by, START + WAIT_MS + ANSWER_MS);
    told(BWL_ANEW, START + WAIT_MS); /* the last one pauses, as ever */
    assert_int_equal(fx.wake_at, START + WAIT_MS + 1);
}

/* ... nor does the last one begin a new time for answers when it begins late: the one before was
 * not answered until the wait was over. */
static void test_hold_anew_after_the_wait_keeps_its_time_for_answers(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    told(BWL_UNKNOWN, START + WAIT_MS - 1);
    told(BWL_ANEW, START + WAIT_MS + 3000);
    alarm_at(START + WAIT_MS + 3000);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.may_wait);
    assert_int_equal(hold.answer_by, START + WAIT_MS + ANSWER_MS);
}

/* Who would not wait is told no only by somebody else's lock: but not for ever. */
static void test_hold_anew_of_who_does_not_wait_ends_when_no_answer_is_due(void **state)
{
    bwl_ms now = START;

    (void)state;
    acquire(START, START);
    for (; now < START + ANSWER_MS; now += 1000) {
        told(BWL_ANEW, now);
        expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
        alarm_at(now + 1);
        expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
        assert_false(fake.cmd.may_wait);
    }
    told(BWL_ANEW, now);
    expect(BWL_HOLD_OVER, BWL_NOT_NOW, 0);
}

/* A cut and a place that is gone, again and again: nothing of it lasts beyond the answer. */
static void test_hold_anew_after_a_cut_does_not_begin_a_new_time_for_answers(void **state)
{
    (void)state;
    acquire(START, START);
    told(BWL_UNKNOWN, START + 3000);
    alarm_at(fx.wake_at);
    told(BWL_ANEW, START + 4000);
    alarm_at(START + 4001);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    told(BWL_UNKNOWN, START + ANSWER_MS);
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);
}

/* But each attempt of who waits does: on the last one, an answer is insisted on as on the first. */
static void test_hold_last_attempt_after_waiting_has_its_own_time_for_answers(void **state)
{
    (void)state;
    be(BWL_HOLD_QUEUED);
    told(BWL_ANEW, START + WAIT_MS - 1);
    alarm_at(START + WAIT_MS);
    told(BWL_UNKNOWN, START + WAIT_MS + ANSWER_MS - 1);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, 0);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);
    assert_int_equal(hold.answer_by, START + WAIT_MS + ANSWER_MS + ANSWER_MS);
}

/* ---- ours for longer ------------------------------------------------------------------------- */

static void expect_until(bwl_ms until)
{
    assert_int_equal(hold.state, BWL_HOLD_HELD);
    assert_int_equal(fx.outcome.kind, BWL_PENDING);
    assert_int_equal(bwl_hold_left(&hold, until - 10), 10);
}

static void test_hold_told_more_unasked_keeps_it_silently_for_longer(void **state)
{
    (void)state;
    acquire(START, START);
    told_held(START + 2000, START);
    assert_int_equal(fx.wake_at, START + 1000); /* half of what is left */
    told_held(START + 29000, START + 10);
    expect_until(START + 29000);
    assert_int_equal(fx.wake_at, START + 10 + LEASE_MS / 3); /* and the renewals are planned anew */
    assert_int_equal(fx.asks_count, 0);
    told_held(START + 500, START + 20); /* less than we knew: nothing is taken back */
    expect_until(START + 29000);
}

/* Without renewals, this is all that makes a claim a lease. */
static void test_hold_told_more_unasked_without_renewals(void **state)
{
    (void)state;
    terms.renews = false;
    hold_on(terms);
    acquire(START, START);
    told_held(START + 2000, START);
    assert_int_equal(fx.wake_at, START + 2000);
    told_held(START + 29000, START + 10);
    expect_until(START + 29000);
    assert_int_equal(fx.wake_at, START + 29000);
}

static void test_hold_told_more_unasked_ends_by_max_hold(void **state)
{
    (void)state;
    terms.max_hold_ms = 5000;
    hold_on(terms);
    acquire(START, START);
    told_held(START + 2000, START);
    told_held(START + 29000, START + 10);
    expect_until(START + 5000);
}

static void test_hold_told_more_after_its_end_has_lost_all_the_same(void **state)
{
    (void)state;
    acquire(START, START);
    told_held(START + 2000, START);
    told_held(START + 29000, START + 2000);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

/* ---- settling -------------------------------------------------------------------------------- */

/* A place in line does not end with a lease, and what is ours by now has a lease of its own. */
static void test_hold_that_listens_settles_for_longer_than_a_lease(void **state)
{
    (void)state;
    for (unsigned listens = 0; listens < 2; listens++) {
        bwl_hold_init(&hold, listens ? &listening_protocol : &fake_protocol, 1, &terms);
        acquire(START, BWL_NEVER);
        told(BWL_UNKNOWN, START + LEASE_MS + 1);
        alarm_at(fx.wake_at);
        expect(listens ? BWL_HOLD_SETTLING : BWL_HOLD_DISCARDING, BWL_PENDING,
               listens ? BWL_ACQUIRE : BWL_RELEASE);
        assert_true(fake.cmd.again == (bool)listens);
    }
}

static void test_hold_in_the_queue_without_an_answer_settles(void **state)
{
    (void)state;
    be(BWL_HOLD_QUEUED);
    told(BWL_UNKNOWN, START + 100);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, BWL_ACQUIRE);
    assert_true(fake.cmd.again);
    told(BWL_QUEUED, START + 200);
    expect(BWL_HOLD_QUEUED, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + WAIT_MS);
    alarm_at(START + WAIT_MS);
    expect(BWL_HOLD_LEAVING, BWL_TIMED_OUT, BWL_RELEASE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hold_anew_is_tried_at_once_with_a_new_token, new_hold),
        cmocka_unit_test_setup(test_hold_anew_and_cancelled_is_over, new_hold),
        cmocka_unit_test_setup(test_hold_anew_when_the_wait_is_over_looks_once_more, new_hold),
        cmocka_unit_test_setup(test_hold_anew_at_the_end_of_the_wait_does_not_pause, new_hold),
        cmocka_unit_test_setup(test_hold_anew_after_the_wait_keeps_its_time_for_answers, new_hold),
        cmocka_unit_test_setup(test_hold_anew_of_who_does_not_wait_ends_when_no_answer_is_due,
                               new_hold),
        cmocka_unit_test_setup(test_hold_anew_after_a_cut_does_not_begin_a_new_time_for_answers,
                               new_hold),
        cmocka_unit_test_setup(test_hold_last_attempt_after_waiting_has_its_own_time_for_answers,
                               new_hold),
        cmocka_unit_test_setup(test_hold_told_more_unasked_keeps_it_silently_for_longer, new_hold),
        cmocka_unit_test_setup(test_hold_told_more_unasked_without_renewals, new_hold),
        cmocka_unit_test_setup(test_hold_told_more_unasked_ends_by_max_hold, new_hold),
        cmocka_unit_test_setup(test_hold_told_more_after_its_end_has_lost_all_the_same, new_hold),
        cmocka_unit_test_setup(test_hold_that_listens_settles_for_longer_than_a_lease, new_hold),
        cmocka_unit_test_setup(test_hold_in_the_queue_without_an_answer_settles, new_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
