/*
 * test_hold_yield.c -- a hold that is given to who waits, and asked for once more.
 */
#include "core/rules.h"
#include "hold_fixture.h"

/* As fake_protocol, and it yields in one step. */
static const bwl_protocol yielding_protocol = {
    .name       = "yielding",
    .state_size = 8,
    .uses_token = true,
    .extends    = true,
    .settles    = true,
    .listens    = true,
    .yields     = true,
    .init       = fake_init,
    .command    = fake_command,
    .event      = fake_event,
};

static void be_held_by(const bwl_protocol *protocol)
{
    bwl_hold_init(&hold, protocol, 1, &terms);
    be(BWL_HOLD_HELD);
}

/* ---- in one step ----------------------------------------------------------------------------- */

/* The protocol knows both tokens: the one that has it, and the one that is to have it. */
static void test_hold_yields_by_a_new_token(void **state)
{
    char first[BWL_TOKEN_MAX + 1];

    (void)state;
    be_held_by(&yielding_protocol);
    memcpy(first, hold.claim.token, sizeof first);
    yield(START + 10, START + 500);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_true(fake.cmd.yields);
    assert_true(fake.cmd.may_wait);
    assert_false(fake.cmd.again);
    assert_string_equal(hold.claim.former, first);
    assert_string_not_equal(hold.claim.token, first);
    assert_int_equal(hold.claim.attempt, 1);
    assert_false(bwl_hold_is_held(&hold));
    assert_true(bwl_hold_is_sought(&hold));
    assert_int_equal(bwl_hold_left(&hold, START + 10), 0);
}

/* The attempt that won it was the last one of its wait: the yield has a wait of its own. */
static void test_hold_yields_and_waits_also_after_a_last_try(void **state)
{
    (void)state;
    bwl_hold_init(&hold, &yielding_protocol, 1, &terms);
    acquire(START, START + 7);
    told(BWL_BUSY, START + 1);
    alarm_at(START + 7);
    assert_false(fake.cmd.may_wait);
    told(BWL_HELD, START + 8);
    yield(START + 10, START + 500);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_true(fake.cmd.may_wait);
    told(BWL_BUSY, START + 11);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_true(fake.cmd.may_wait);
}

/* Nor is it that the acquire did not wait at all. */
static void test_hold_yield_has_waited_also_after_an_acquire_that_had_not(void **state)
{
    (void)state;
    bwl_hold_init(&hold, &yielding_protocol, 1, &terms);
    acquire(START, START);
    told(BWL_HELD, START + 8);
    yield(START + 10, START + 500);
    told(BWL_BUSY, START + 499);
    alarm_at(START + 500);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    told(BWL_BUSY, START + 501);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

/* That its store could not be reached to extend it is nothing to the attempt. */
static void test_hold_yield_begins_without_the_trouble_of_before(void **state)
{
    (void)state;
    be_held_by(&yielding_protocol);
    assert_int_equal(hold.trouble, BWL_PENDING);
    extend(START + 5, LEASE_MS);
    told(BWL_UNREACHABLE, START + 6);
    assert_int_equal(hold.trouble, BWL_UNREACHABLE);
    yield(START + 10, START + 500);
    assert_int_equal(hold.trouble, BWL_PENDING);
    assert_true(bwl_hold_unsent_by(&hold) == BWL_NEVER);
}

static void test_hold_yielded_and_given_back_is_held_as_if_acquired(void **state)
{
    (void)state;
    terms.max_hold_ms = 9000;
    be_held_by(&yielding_protocol);
    yield(START + 10, START + 500);
    told(BWL_QUEUED, START + 11);
    expect(BWL_HOLD_QUEUED, BWL_PENDING, 0);
    told(BWL_HELD, START + 400);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(hold.ends_at, START + 400 + 9000);
    release(START + 401);
    expect(BWL_HOLD_RELEASING, BWL_PENDING, BWL_RELEASE);
}

static void test_hold_yielded_and_not_given_back_in_time_has_timed_out(void **state)
{
    (void)state;
    be_held_by(&yielding_protocol);
    yield(START + 10, START + 500);
    told(BWL_QUEUED, START + 11);
    assert_int_equal(fx.wake_at, START + 500);
    alarm_at(START + 500);
    expect(BWL_HOLD_LEAVING, BWL_TIMED_OUT, BWL_RELEASE);
}

static void test_hold_yielded_what_was_not_ours_is_lost(void **state)
{
    (void)state;
    be_held_by(&yielding_protocol);
    yield(START + 10, START + 500);
    told(BWL_LOST, START + 11);
    expect(BWL_HOLD_OVER, BWL_LOST, 0);
}

/* No answer: settled as any attempt is, and no more by this than by the time for it. */
static void test_hold_yielded_without_an_answer_is_settled(void **state)
{
    (void)state;
    be_held_by(&yielding_protocol);
    yield(START + 10, START + 500);
    told(BWL_UNKNOWN, START + 20);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, 0);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, BWL_ACQUIRE);
    assert_true(fake.cmd.again);
    assert_false(fake.cmd.yields);
    told(BWL_ANEW, START + 100);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.yields); /* once is enough */
}

/* The time for an answer counts from the yield, not from the acquire before it. */
static void test_hold_yielded_is_settled_for_the_time_of_one_answer(void **state)
{
    (void)state;
    be_held_by(&yielding_protocol);
    yield(START + 6000, START + 6500);
    told(BWL_UNKNOWN, START + 6000 + ANSWER_MS - 1);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + 6000 + ANSWER_MS);
    alarm_at(fx.wake_at);
    expect(BWL_HOLD_LEAVING, BWL_UNKNOWN, BWL_RELEASE);
}

static void test_hold_yielded_and_cancelled_leaves(void **state)
{
    (void)state;
    be_held_by(&yielding_protocol);
    yield(START + 10, START + 500);
    cancel(START + 11);
    expect(BWL_HOLD_LEAVING, BWL_CANCELLED, BWL_RELEASE);
}

/* What is said of an extension that was under way is said to nobody. */
static void test_hold_yields_while_an_extension_is_out(void **state)
{
    (void)state;
    bwl_hold_init(&hold, &yielding_protocol, 1, &terms);
    be(BWL_HOLD_RENEWING);
    extend(START + 9990, LEASE_MS);
    yield(START + 10000, START + 90000);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_true(fake.cmd.yields);
    told(BWL_HELD, START + 10001);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    alarm_at(fx.wake_at);
    told(BWL_HELD, START + 21000);
    expect(BWL_HOLD_HELD, BWL_PENDING, 0); /* nobody waits for it any more */
}

static void test_hold_yields_too_late_is_lost(void **state)
{
    (void)state;
    be_held_by(&yielding_protocol);
    yield(hold.until, hold.until + 500);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

/* ---- in two ---------------------------------------------------------------------------------- */

static void test_hold_yields_by_a_release_and_an_acquire(void **state)
{
    (void)state;
    be(BWL_HOLD_YIELDING);
    expect(BWL_HOLD_YIELDING, BWL_PENDING, BWL_RELEASE);
    assert_true(bwl_hold_is_sought(&hold));
    assert_false(bwl_hold_is_held(&hold));
    told(BWL_RELEASED, START + 5);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.yields);
    assert_true(fake.cmd.may_wait);
    told(BWL_HELD, START + 9);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
}

static void test_hold_yields_at_once_where_nothing_is_asked(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    fake.command_tells.kind = BWL_RELEASED;
    yield(START + 10, START + 500);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
}

static void test_hold_yielded_has_as_many_tries_as_an_acquire(void **state)
{
    static const bwl_rules rules = { .tries_max = 2 };

    (void)state;
    terms.rules = &rules;
    be_held_by(&fake_protocol);
    yield(START + 10, START + 5000);
    told(BWL_RELEASED, START + 11);
    told(BWL_BUSY, START + 12);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);
    alarm_at(fx.wake_at);
    told(BWL_BUSY, START + 1000);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

/* The time for an answer of the acquire counts from the answer of the release before it. */
static void test_hold_yielded_by_a_release_is_settled_for_the_time_of_one_answer(void **state)
{
    (void)state;
    be(BWL_HOLD_HELD);
    yield(START + 10, START + 500);
    told(BWL_RELEASED, START + 3000);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    told(BWL_UNKNOWN, START + 3000 + ANSWER_MS - 1);
    expect(BWL_HOLD_SETTLING, BWL_PENDING, 0);
    assert_int_equal(fx.wake_at, START + 3000 + ANSWER_MS);
}

/* The release took as long as the wait: once more, and no longer. */
static void test_hold_yielded_late_tries_once(void **state)
{
    (void)state;
    be(BWL_HOLD_YIELDING);
    told(BWL_RELEASED, START + WAIT_MS);
    expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    assert_false(fake.cmd.may_wait);
    told(BWL_BUSY, START + WAIT_MS + 1);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

static void test_hold_yielded_to_nobody_known_insists_on_its_release(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_UNKNOWN, BWL_NOT_NOW, BWL_UNREACHABLE,
                                              BWL_STORE_REFUSED };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        (void)new_hold(NULL);
        be(BWL_HOLD_YIELDING);
        told(kinds[i], START + 5);
        expect(BWL_HOLD_LEAVING, kinds[i], BWL_RELEASE);
        (void)new_hold(NULL);
        bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
        be(BWL_HOLD_YIELDING);
        told(kinds[i], START + 5); /* a release of another's could follow */
        expect(BWL_HOLD_OVER, kinds[i], 0);
    }
}

static void test_hold_yielding_what_was_not_ours_is_lost(void **state)
{
    (void)state;
    be(BWL_HOLD_YIELDING);
    told(BWL_LOST, START + 5);
    expect(BWL_HOLD_OVER, BWL_LOST, 0);
}

/* The release is on its way: it needs no other. */
static void test_hold_yielding_cancelled_is_released_all_the_same(void **state)
{
    (void)state;
    be(BWL_HOLD_YIELDING);
    cancel(START + 1);
    expect(BWL_HOLD_LEAVING, BWL_CANCELLED, 0);
    told(BWL_RELEASED, START + 2);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, new_hold)
        T(test_hold_yields_by_a_new_token),
        T(test_hold_yields_and_waits_also_after_a_last_try),
        T(test_hold_yield_has_waited_also_after_an_acquire_that_had_not),
        T(test_hold_yield_begins_without_the_trouble_of_before),
        T(test_hold_yielded_and_given_back_is_held_as_if_acquired),
        T(test_hold_yielded_and_not_given_back_in_time_has_timed_out),
        T(test_hold_yielded_what_was_not_ours_is_lost),
        T(test_hold_yielded_without_an_answer_is_settled),
        T(test_hold_yielded_is_settled_for_the_time_of_one_answer),
        T(test_hold_yielded_and_cancelled_leaves),
        T(test_hold_yields_while_an_extension_is_out),
        T(test_hold_yields_too_late_is_lost),
        T(test_hold_yields_by_a_release_and_an_acquire),
        T(test_hold_yields_at_once_where_nothing_is_asked),
        T(test_hold_yielded_has_as_many_tries_as_an_acquire),
        T(test_hold_yielded_by_a_release_is_settled_for_the_time_of_one_answer),
        T(test_hold_yielded_late_tries_once),
        T(test_hold_yielded_to_nobody_known_insists_on_its_release),
        T(test_hold_yielding_what_was_not_ours_is_lost),
        T(test_hold_yielding_cancelled_is_released_all_the_same),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
