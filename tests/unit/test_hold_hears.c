/*
 * test_hold_hears.c -- a hold on a protocol that `hears`: a push ends the pause between two
 * attempts, and nothing else.
 */
#include "hold_fixture.h"

/* As fake_protocol, and it hears. */
static const bwl_protocol hearing_protocol = {
    .name       = "hearing",
    .state_size = 8,
    .uses_token = true,
    .extends    = true,
    .settles    = true,
    .hears      = true,
    .init       = fake_init,
    .command    = fake_command,
    .event      = fake_event,
};

static int new_hearing(void **state)
{
    (void)new_hold(state);
    bwl_hold_init(&hold, &hearing_protocol, 1, &terms);
    return 0;
}

static void test_hears_ends_the_pause(void **state)
{
    (void)state;
    be(BWL_HOLD_WAITING);
    assert_true(fx.wake_at > START + 1);
    happens(BWL_PUSH, START + 1);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + 1);
    alarm_at(START + 1);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_true(fake.cmd.may_wait);
}

static void test_hears_after_the_wait_is_over_tries_the_last_time(void **state)
{
    (void)state;
    be(BWL_HOLD_WAITING);
    happens(BWL_PUSH, START + WAIT_MS);
    alarm_at(START + WAIT_MS);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.may_wait);
    told(BWL_BUSY, START + WAIT_MS + 1);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

static void test_hears_nothing_in_other_states(void **state)
{
    static const bwl_hold_state states[] = { BWL_HOLD_ACQUIRING,  BWL_HOLD_SETTLING,
                                             BWL_HOLD_DISCARDING, BWL_HOLD_HELD,
                                             BWL_HOLD_RENEWING,   BWL_HOLD_RELEASING,
                                             BWL_HOLD_LEAVING,    BWL_HOLD_OVER };

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        (void)new_hearing(state);
        be(states[i]);
        bwl_ms look_at = hold.look_at;
        happens(BWL_PUSH, START);
        expect(states[i], BWL_PENDING, 0);
        assert_int_equal(hold.look_at, look_at);
    }
}

static void test_hears_not_where_the_protocol_does_not(void **state)
{
    (void)new_hold(state);
    be(BWL_HOLD_WAITING);
    bwl_ms look_at = hold.look_at;
    happens(BWL_PUSH, START + 1);
    assert_int_equal(hold.look_at, look_at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hears_ends_the_pause, new_hearing),
        cmocka_unit_test_setup(test_hears_after_the_wait_is_over_tries_the_last_time, new_hearing),
        cmocka_unit_test_setup(test_hears_nothing_in_other_states, new_hearing),
        cmocka_unit_test_setup(test_hears_not_where_the_protocol_does_not, new_hearing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
