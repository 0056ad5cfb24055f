/*
 * test_hold_keep.c -- keeping a lock: renewing in time, extending when the caller says so, noticing
 * the loss, the end that max_hold sets, giving back.
 *
 * On a fake protocol that tells what the test wants.
 */
#include "hold_fixture.h"

enum { UNTIL = START + LEASE_MS - 1 }; /* what `told` makes of HELD at START */

static const bwl_terms usual = {
    .lease_ms = LEASE_MS, .max_hold_ms = BWL_NEVER, .answer_ms = ANSWER_MS, .renews = true
};

static bwl_terms not_renewing(void)
{
    bwl_terms other = usual;

    other.renews = false;
    return other;
}

static bwl_terms ending_after(bwl_ms max_hold_ms)
{
    bwl_terms other = usual;

    other.max_hold_ms = max_hold_ms;
    return other;
}

/* ---- renewing -------------------------------------------------------------------------------- */

static void test_hold_renews_at_a_third_of_the_lease(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    assert_int_equal(fx.wake_at, START + LEASE_MS / 3);
    alarm_at(START + LEASE_MS / 3);
    expect(BWL_HOLD_RENEWING, BWL_PENDING, BWL_EXTEND);
    assert_int_equal(fx.wake_at, UNTIL); /* for the loss, should no answer come */
    told(BWL_HELD, START + 10100);
    expect(BWL_HOLD_HELD, BWL_PENDING, 0); /* the caller hears nothing of that */
    assert_int_equal(fx.wake_at, START + 10100 + LEASE_MS / 3);
    assert_int_equal(bwl_hold_left(&hold, START + 10100), LEASE_MS - 1);
}

static void test_hold_renews_sooner_when_the_answer_took_long(void **state)
{
    (void)state;
    acquire(START, START);
    told_held(START + 12000, START + 10000); /* 2000 left: a third of the lease would be too late */
    assert_int_equal(fx.wake_at, START + 11000);
    alarm_at(START + 11000);
    told_held(START + 11002, START + 11001);
    assert_int_equal(fx.wake_at, START + 11001 + 499);
}

static void test_hold_that_does_not_renew_ends_with_its_lease(void **state)
{
    (void)state;
    hold_on(not_renewing());
    be(BWL_HOLD_HELD);
    assert_int_equal(fx.wake_at, UNTIL);
    alarm_at(UNTIL);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

static void test_hold_without_a_lease_needs_no_renewal(void **state)
{
    (void)state;
    acquire(START, START);
    told_held(BWL_NEVER, START + 1);
    assert_int_equal(fx.wake_at, BWL_NEVER);
    assert_int_equal(fx.outcome.until, BWL_NEVER);
    assert_int_equal(bwl_hold_left(&hold, START + INT64_C(1000000000000)), BWL_NEVER);
    assert_int_equal(bwl_hold_left_truly(&hold, START + INT64_C(1000000000000)), BWL_NEVER);
}

static void test_hold_a_renewal_never_shortens(void **state)
{
    (void)state;
    be(BWL_HOLD_RENEWING);
    told_held(UNTIL - 1, START + 10001);
    assert_int_equal(bwl_hold_left(&hold, START + 10001), UNTIL - START - 10001);
}

/* Renewals that fail are tried again after a twelfth of the lease, 10 ms at least, 1 s at most. */
static void test_hold_has_no_trouble_behind_a_yes(void **state)
{
    (void)state;
    be(BWL_HOLD_WAITING);
    alarm_at(fx.wake_at);
    told(BWL_HELD, START + 20);
    assert_int_equal(hold.trouble, BWL_PENDING);
    alarm_at(fx.wake_at);
    told(BWL_NOT_NOW, START + 10030);
    assert_int_equal(hold.trouble, BWL_NOT_NOW);
    alarm_at(fx.wake_at);
    told(BWL_HELD, START + 12000);
    assert_int_equal(hold.trouble, BWL_PENDING);
}

static void test_hold_tries_a_failed_renewal_again_well_before_the_end(void **state)
{
    static const struct {
        bwl_ms lease_ms, pause_ms;
    } cases[] = {
        { 100, 10 }, { 131, 10 }, { 132, 11 }, { 1200, 100 }, { 12011, 1000 }, { 86400000, 1000 },
    };
    static const bwl_outcome_kind kinds[] = {
        BWL_UNKNOWN,
        BWL_NOT_NOW,
        BWL_UNREACHABLE,
        BWL_STORE_REFUSED,
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bwl_terms other = usual;
        bwl_ms    now   = START + 20;
        other.lease_ms  = cases[i].lease_ms;
        hold_on(other);
        acquire(START, START);
        told_held(START + cases[i].lease_ms, START);
        alarm_at(fx.wake_at);
        told(kinds[i % 4], now);
        expect(BWL_HOLD_HELD, BWL_PENDING, 0);
        assert_int_equal(fx.wake_at, now + cases[i].pause_ms);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_RENEWING, BWL_PENDING, BWL_EXTEND);
    }
}

static void test_hold_does_not_try_a_failed_renewal_after_the_end(void **state)
{
    (void)state;
    be(BWL_HOLD_RENEWING);
    told(BWL_UNKNOWN, UNTIL - 999);
    assert_int_equal(fx.wake_at, UNTIL);
    alarm_at(UNTIL);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

static void test_hold_that_does_not_renew_does_not_retry_the_callers_extension(void **state)
{
    (void)state;
    hold_on(not_renewing());
    be(BWL_HOLD_HELD);
    extend(START + 100, LEASE_MS);
    told(BWL_UNKNOWN, START + 200);
    expect(BWL_HOLD_HELD, BWL_UNKNOWN, 0);
    assert_int_equal(fx.wake_at, UNTIL);
}

/* ---- extending ------------------------------------------------------------------------------- */

static void test_hold_extension_is_told_and_takes_the_new_lease(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    extend(START + 100, 90000);
    expect(BWL_HOLD_RENEWING, BWL_PENDING, BWL_EXTEND);
    assert_int_equal(hold.claim.lease_ms, 90000);
    assert_int_equal(fx.wake_at, UNTIL);
    told_held(START + 90000, START + 101);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(fx.outcome.until, START + 90000);
    assert_int_equal(fx.outcome.fence, 77);
    assert_int_equal(fx.wake_at, START + 101 + 30000); /* a third of what it is now */
    alarm_at(fx.wake_at);
    told_held(START + 100000, START + 40000);
    expect(BWL_HOLD_HELD, BWL_PENDING, 0); /* the renewal after it is not */
}

static void test_hold_extension_while_a_renewal_is_out_is_asked_after_it(void **state)
{
    (void)state;
    be(BWL_HOLD_RENEWING);
    extend(START + 10050, 90000);
    expect(BWL_HOLD_RENEWING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, UNTIL);
    told_held(START + 40000, START + 10100); /* the renewal: with the lease of before */
    expect(BWL_HOLD_RENEWING, BWL_PENDING, BWL_EXTEND);
    assert_int_equal(bwl_hold_left(&hold, START + 10100), 29900);
    assert_int_equal(fx.wake_at, START + 40000);
    told_held(START + 100000, START + 10200);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(fx.outcome.until, START + 100000);
    alarm_at(fx.wake_at);
    told_held(START + 110000, START + 50000);
    expect(BWL_HOLD_HELD, BWL_PENDING, 0);
}

static void test_hold_extension_behind_a_renewal_that_fails_fails_with_it(void **state)
{
    (void)state;
    be(BWL_HOLD_RENEWING);
    extend(START + 10050, 90000);
    told(BWL_UNREACHABLE, START + 10100);
    expect(BWL_HOLD_HELD, BWL_UNREACHABLE, 0);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_RENEWING, BWL_PENDING, BWL_EXTEND);
    told_held(START + 100000, START + 12000);
    expect(BWL_HOLD_HELD, BWL_PENDING, 0); /* told already, and once */
}

/* ---- losing ---------------------------------------------------------------------------------- */

static void test_hold_is_ours_strictly_before_until(void **state)
{
    (void)state;
    hold_on(not_renewing());
    be(BWL_HOLD_HELD);
    assert_int_equal(bwl_hold_left(&hold, UNTIL - 1), 1);
    assert_int_equal(bwl_hold_left_truly(&hold, UNTIL - 2), 1);
    assert_int_equal(bwl_hold_left_truly(&hold, UNTIL - 1), 0);
    assert_int_equal(bwl_hold_left_truly(&hold, UNTIL), 0);
    assert_int_equal(bwl_hold_left(&hold, UNTIL), 0);
    assert_int_equal(bwl_hold_left(&hold, UNTIL + 1), 0);
    happens(BWL_PUSH, UNTIL - 1);
    expect(BWL_HOLD_HELD, BWL_PENDING, 0);
    happens(BWL_PUSH, UNTIL);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
    assert_int_equal(bwl_hold_left(&hold, START), 0);
}

static void test_hold_a_renewal_that_is_answered_too_late_is_a_loss(void **state)
{
    (void)state;
    be(BWL_HOLD_RENEWING);
    told_held(START + 100000, UNTIL);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
    assert_int_equal(fake.cmd.verb, BWL_RELEASE);
}

static void test_hold_extend_after_the_end_is_a_loss(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    extend(UNTIL, LEASE_MS);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);

    (void)new_hold(state);
    be(BWL_HOLD_HELD);
    extend(UNTIL - 1, LEASE_MS);
    expect(BWL_HOLD_RENEWING, BWL_PENDING, BWL_EXTEND);
}

static void test_hold_release_after_the_end_is_a_loss_and_a_release(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    release(UNTIL);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
    told(BWL_RELEASED, UNTIL + 1);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);

    (void)new_hold(state);
    be(BWL_HOLD_HELD);
    release(UNTIL - 1);
    expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
}

/* ---- max_hold -------------------------------------------------------------------------------- */

static void test_hold_max_hold_ends_it_before_its_lease(void **state)
{
    (void)state;
    hold_on(ending_after(5000));
    be(BWL_HOLD_HELD);
    assert_int_equal(fx.outcome.until, START + 5000);
    assert_int_equal(fx.wake_at, START + 5000); /* a renewal would change nothing */
    alarm_at(START + 5000);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

static void test_hold_max_hold_ends_it_whatever_the_renewal_says(void **state)
{
    (void)state;
    hold_on(ending_after(35000));
    be(BWL_HOLD_HELD);
    assert_int_equal(fx.outcome.until, UNTIL);
    alarm_at(fx.wake_at);
    told(BWL_HELD, START + 10000);
    assert_int_equal(fx.wake_at, START + 35000); /* renewed to the end: no more renewals */
    assert_int_equal(bwl_hold_left(&hold, START + 10000), 25000);
    extend(START + 20000, 60000);
    told_held(START + 79000, START + 20001);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(fx.outcome.until, START + 35000);
    alarm_at(START + 35000);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

/* It counts from when the caller has the lock, and not from when he began to want it. */
static void test_hold_max_hold_counts_from_the_answer(void **state)
{
    (void)state;
    hold_on(ending_after(5000));
    acquire(START, START + WAIT_MS);
    told_held(START + LEASE_MS, START + 3000);
    assert_int_equal(fx.outcome.until, START + 8000);
}

static void test_hold_max_hold_ends_also_what_has_no_lease(void **state)
{
    (void)state;
    hold_on(ending_after(5000));
    acquire(START, START);
    told_held(BWL_NEVER, START);
    assert_int_equal(fx.outcome.until, START + 5000);
    assert_int_equal(fx.wake_at, START + 5000);
    alarm_at(START + 5000);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

/* ---- disowned -------------------------------------------------------------------------------- */

/* What the caller was told a moment ago stays true: the store keeps it for as long. */
static void
test_hold_that_the_store_disowns_is_lost_and_not_taken_back_before_its_time(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    disown(START + 7);
    expect(BWL_HOLD_DISOWNED, BWL_LOST, 0);
    assert_int_equal(bwl_hold_left(&hold, START + 7), 0);
    assert_int_equal(fx.wake_at, UNTIL);
    alarm_at(UNTIL - 1);
    expect(BWL_HOLD_DISOWNED, BWL_PENDING, 0);
    alarm_at(UNTIL);
    expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
    told(BWL_LOST, UNTIL + 1);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

static void
test_hold_that_the_store_disowns_is_taken_back_when_the_caller_gives_it_back(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    disown(START + 7);
    give_back(START + 8);
    expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
    told(BWL_NOT_NOW, START + 9);
    expect(BWL_HOLD_LEAVING, BWL_PENDING, 0); /* it insists, as ever */
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
    told(BWL_RELEASED, START + 10);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

static void test_hold_that_the_store_disowns_hears_nothing_any_more(void **state)
{
    (void)state;
    be(BWL_HOLD_RENEWING);
    disown(START + 10001);
    expect(BWL_HOLD_DISOWNED, BWL_LOST, 0);
    unsigned events = fake.events;
    happens(BWL_REPLY, START + 10002);
    happens(BWL_DOWN, START + 10003);
    expect(BWL_HOLD_DISOWNED, BWL_PENDING, 0);
    assert_int_equal(fake.events, events);
    assert_int_equal(fx.wake_at, UNTIL);
}

static void test_hold_that_the_store_disowns_too_late_is_taken_back_at_once(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    disown(UNTIL);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

/* ---- giving back ----------------------------------------------------------------------------- */

static void test_hold_release_interrupts_a_renewal(void **state)
{
    (void)state;
    be(BWL_HOLD_RENEWING);
    release(START + 10001);
    expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
    told(BWL_RELEASED, START + 10002);
    expect(BWL_HOLD_OVER, BWL_RELEASED, 0);
}

static void test_hold_release_insists_for_as_long_as_it_was_told(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_NOT_NOW, BWL_UNREACHABLE, BWL_UNKNOWN };

    for (unsigned i = 0; i < 3; i++) {
        (void)new_hold(state);
        be(BWL_HOLD_RELEASING);
        told(kinds[i], START + 10);
        assert_int_equal(fx.wake_at, START + 15);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
        told(kinds[i], START + ANSWER_MS - 1);
        assert_int_equal(fx.wake_at, START + ANSWER_MS);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
        told(kinds[i], START + ANSWER_MS);
        expect(BWL_HOLD_OVER, kinds[i], 0);
    }
}

static void test_hold_release_once_without_an_answer_stays_doubted(void **state)
{
    static const bwl_outcome_kind ends[] = { BWL_NOT_NOW, BWL_UNREACHABLE, BWL_LOST };

    for (unsigned i = 0; i < 3; i++) {
        (void)new_hold(state);
        be(BWL_HOLD_RELEASING);
        told(BWL_UNKNOWN, START + 10);
        alarm_at(fx.wake_at);
        told(ends[i], START + ANSWER_MS);
        expect(BWL_HOLD_OVER, BWL_UNKNOWN, 0);
    }
    (void)new_hold(state);
    be(BWL_HOLD_RELEASING);
    told(BWL_UNKNOWN, START + 10);
    alarm_at(fx.wake_at);
    told(BWL_RELEASED, START + 20);
    expect(BWL_HOLD_OVER, BWL_RELEASED, 0);
}

/* Not carried out, then "no": it was lost before we came to it. */
static void test_hold_release_that_was_surely_not_carried_out_leaves_no_doubt(void **state)
{
    (void)state;
    be(BWL_HOLD_RELEASING);
    told(BWL_NOT_NOW, START + 10);
    alarm_at(fx.wake_at);
    told(BWL_LOST, START + 20);
    expect(BWL_HOLD_OVER, BWL_LOST, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hold_renews_at_a_third_of_the_lease, new_hold),
        cmocka_unit_test_setup(test_hold_renews_sooner_when_the_answer_took_long, new_hold),
        cmocka_unit_test_setup(test_hold_that_does_not_renew_ends_with_its_lease, new_hold),
        cmocka_unit_test_setup(test_hold_without_a_lease_needs_no_renewal, new_hold),
        cmocka_unit_test_setup(test_hold_a_renewal_never_shortens, new_hold),
        cmocka_unit_test_setup(test_hold_has_no_trouble_behind_a_yes, new_hold),
        cmocka_unit_test_setup(test_hold_tries_a_failed_renewal_again_well_before_the_end,
                               new_hold),
        cmocka_unit_test_setup(test_hold_does_not_try_a_failed_renewal_after_the_end, new_hold),
        cmocka_unit_test_setup(test_hold_that_does_not_renew_does_not_retry_the_callers_extension,
                               new_hold),
        cmocka_unit_test_setup(test_hold_extension_is_told_and_takes_the_new_lease, new_hold),
        cmocka_unit_test_setup(test_hold_extension_while_a_renewal_is_out_is_asked_after_it,
                               new_hold),
        cmocka_unit_test_setup(test_hold_extension_behind_a_renewal_that_fails_fails_with_it,
                               new_hold),
        cmocka_unit_test_setup(test_hold_is_ours_strictly_before_until, new_hold),
        cmocka_unit_test_setup(test_hold_a_renewal_that_is_answered_too_late_is_a_loss, new_hold),
        cmocka_unit_test_setup(test_hold_extend_after_the_end_is_a_loss, new_hold),
        cmocka_unit_test_setup(test_hold_release_after_the_end_is_a_loss_and_a_release, new_hold),
        cmocka_unit_test_setup(
            test_hold_that_the_store_disowns_is_lost_and_not_taken_back_before_its_time, new_hold),
        cmocka_unit_test_setup(
            test_hold_that_the_store_disowns_is_taken_back_when_the_caller_gives_it_back, new_hold),
        cmocka_unit_test_setup(test_hold_that_the_store_disowns_hears_nothing_any_more, new_hold),
        cmocka_unit_test_setup(test_hold_that_the_store_disowns_too_late_is_taken_back_at_once,
                               new_hold),
        cmocka_unit_test_setup(test_hold_max_hold_ends_it_before_its_lease, new_hold),
        cmocka_unit_test_setup(test_hold_max_hold_ends_it_whatever_the_renewal_says, new_hold),
        cmocka_unit_test_setup(test_hold_max_hold_counts_from_the_answer, new_hold),
        cmocka_unit_test_setup(test_hold_max_hold_ends_also_what_has_no_lease, new_hold),
        cmocka_unit_test_setup(test_hold_release_interrupts_a_renewal, new_hold),
        cmocka_unit_test_setup(test_hold_release_insists_for_as_long_as_it_was_told, new_hold),
        cmocka_unit_test_setup(test_hold_release_once_without_an_answer_stays_doubted, new_hold),
        cmocka_unit_test_setup(test_hold_release_that_was_surely_not_carried_out_leaves_no_doubt,
                               new_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
