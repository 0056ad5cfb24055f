/*
 * test_hold_release.c -- letting go: what may be asked for twice, and what is told then.  How every
 * outcome is taken is in test_hold_outcomes.c.
 */
#include "hold_fixture.h"
#include "lock/machine_inside.h"

enum { GRANT_MS = LEASE_MS - 1 }; /* what `told` grants */

static int new_unsettled(void **state)
{
    (void)new_hold(state);
    bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
    return 0;
}

static void hold_and_release(void)
{
    acquire(START, START);
    told(BWL_HELD, START);
    release(START + 1);
    expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
}

static void test_unsettled_release_without_an_answer_is_not_sent_again(void **state)
{
    (void)state;
    hold_and_release();
    told(BWL_UNKNOWN, START + 2);
    expect(BWL_HOLD_OVER, BWL_UNKNOWN, 0);
}

static void test_unsettled_release_that_was_not_carried_out_is_sent_again(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_NOT_NOW, BWL_UNREACHABLE };

    for (unsigned i = 0; i < 2; i++) {
        (void)new_unsettled(state);
        hold_and_release();
        told(kinds[i], START + 2);
        expect(BWL_HOLD_RELEASING, BWL_PENDING, 0);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
    }
}

static void test_unsettled_release_is_not_sent_after_its_time(void **state)
{
    (void)state;
    hold_and_release();
    told(BWL_NOT_NOW, START + 2);
    alarm_at(START + GRANT_MS); /* late, and it may be another's since */
    expect(BWL_HOLD_OVER, BWL_NOT_NOW, 0);
}

/* "Not yours" may be the work of the one before, which had no answer. */
static void test_release_after_one_without_an_answer_is_never_lost(void **state)
{
    (void)state;
    hold_and_release();
    told(BWL_UNKNOWN, START + 2);
    expect(BWL_HOLD_RELEASING, BWL_PENDING, 0);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
    told(BWL_LOST, START + 100);
    expect(BWL_HOLD_OVER, BWL_UNKNOWN, 0);
}

static void test_release_is_asked_for_until_its_time_is_over(void **state)
{
    bwl_ms at = START + 2;

    (void)state;
    hold_and_release();
    for (unsigned i = 0; i < 4; i++) {
        told(BWL_UNREACHABLE, at);
        expect(BWL_HOLD_RELEASING, BWL_PENDING, 0);
        at = fx.wake_at;
        alarm_at(at);
        expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
    }
    told(BWL_UNREACHABLE, START + 1 + ANSWER_MS);
    expect(BWL_HOLD_OVER, BWL_UNREACHABLE, 0);
}

static void test_release_says_which_ends_leave_a_doubt(void **state)
{
    (void)state;
    assert_true(bwl_hold_is_in_doubt(BWL_UNKNOWN));
    assert_true(bwl_hold_is_in_doubt(BWL_UNREACHABLE));
    assert_true(bwl_hold_is_in_doubt(BWL_NOT_NOW));
    assert_false(bwl_hold_is_in_doubt(BWL_RELEASED));
    assert_false(bwl_hold_is_in_doubt(BWL_LOST));
    assert_false(bwl_hold_is_in_doubt(BWL_STORE_REFUSED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_unsettled_release_without_an_answer_is_not_sent_again,
                               new_unsettled),
        cmocka_unit_test_setup(test_unsettled_release_that_was_not_carried_out_is_sent_again,
                               new_unsettled),
        cmocka_unit_test_setup(test_unsettled_release_is_not_sent_after_its_time, new_unsettled),
        cmocka_unit_test_setup(test_release_after_one_without_an_answer_is_never_lost, new_hold),
        cmocka_unit_test_setup(test_release_is_asked_for_until_its_time_is_over, new_hold),
        cmocka_unit_test(test_release_says_which_ends_leave_a_doubt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
