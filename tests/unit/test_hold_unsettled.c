/*
 * test_hold_unsettled.c -- a hold on a protocol that cannot tell its own value from another's: it
 * never asks twice for what may have been carried out, and never takes back what may be somebody
 * else's by now.  And the parameters that rules have for the hold.
 */
#include "core/rules.h"
#include "hold_fixture.h"

enum { GRANT_MS = LEASE_MS - 1 }; /* what `told` grants */

static int new_unsettled(void **state)
{
    (void)new_hold(state);
    bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
    return 0;
}

static void rule_with(const bwl_rules *rules)
{
    terms.rules = rules;
    bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
}

/* ---- acquiring ------------------------------------------------------------------------------- */

static void test_unsettled_acquire_without_an_answer_is_unknown_at_once(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    told(BWL_UNKNOWN, START + 10);
    expect(BWL_HOLD_OVER, BWL_UNKNOWN, 0);
}

static void test_unsettled_grant_that_came_too_late_is_left_alone(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    told_held(START + 10, START + 10);
    expect(BWL_HOLD_WAITING, BWL_PENDING, 0);

    (void)new_unsettled(state);
    acquire(START, START);
    told_held(START + 10, START + 10);
    expect(BWL_HOLD_OVER, BWL_NOT_NOW, 0);
}

static void test_unsettled_cancel_waits_for_the_answer_and_gives_back_what_is_ours(void **state)
{
    (void)state;
    be(BWL_HOLD_ABANDONING);
    expect(BWL_HOLD_ABANDONING, BWL_CANCELLED, 0);
    told(BWL_HELD, START + 10);
    expect(BWL_HOLD_LEAVING, BWL_PENDING, BWL_RELEASE);
    told(BWL_RELEASED, START + 20);
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

static void test_unsettled_cancel_asks_nothing_when_it_is_not_surely_ours(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_BUSY, BWL_NOT_NOW, BWL_UNREACHABLE,
                                              BWL_STORE_REFUSED, BWL_UNKNOWN };

    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        (void)new_unsettled(state);
        be(BWL_HOLD_ABANDONING);
        told(kinds[i], START + 10);
        expect(BWL_HOLD_OVER, BWL_PENDING, 0);
    }
    (void)new_unsettled(state);
    be(BWL_HOLD_ABANDONING);
    told_held(START + 10, START + 10); /* its time is over already */
    expect(BWL_HOLD_OVER, BWL_PENDING, 0);
}

static void test_unsettled_cancel_during_a_pause_ends_it(void **state)
{
    (void)state;
    acquire(START, START + WAIT_MS);
    told(BWL_BUSY, START);
    cancel(START + 1);
    expect(BWL_HOLD_OVER, BWL_CANCELLED, 0);
}

/* ---- holding --------------------------------------------------------------------------------- */

static void test_unsettled_hold_is_never_renewed(void **state)
{
    (void)state;
    assert_true(terms.renews);
    acquire(START, START);
    told(BWL_HELD, START);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(fx.wake_at, START + GRANT_MS);
    alarm_at(START + GRANT_MS);
    expect(BWL_HOLD_OVER, BWL_LOST, 0); /* nothing is deleted: it may be another's */
}

static void test_unsettled_hold_that_ends_by_max_hold_is_given_back(void **state)
{
    (void)state;
    terms.max_hold_ms = GRANT_MS - 10;
    bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
    acquire(START, START);
    told(BWL_HELD, START);
    alarm_at(START + GRANT_MS - 10);
    expect(BWL_HOLD_LEAVING, BWL_LOST, BWL_RELEASE);
}

static void test_unsettled_hold_without_end_has_none(void **state)
{
    (void)state;
    acquire(START, START);
    told_held(BWL_NEVER, START);
    expect(BWL_HOLD_HELD, BWL_HELD, 0);
    assert_int_equal(fx.wake_at, BWL_NEVER);
    assert_int_equal(bwl_hold_left(&hold, START + 1000000000), BWL_NEVER);
}

static void test_unsettled_hold_that_the_store_disowns_is_lost_and_not_deleted(void **state)
{
    (void)state;
    acquire(START, START);
    told(BWL_HELD, START);
    fx = (bwl_effects){ 0 };
    bwl_hold_disown(&hold, START + 1, &fx);
    expect(BWL_HOLD_OVER, BWL_LOST, 0);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void test_rules_pause_is_used_between_tries(void **state)
{
    static const bwl_rules rules = { .pause_ms = 100 };

    (void)state;
    rule_with(&rules);
    acquire(START, START + 300);
    for (bwl_ms at = START; at < START + 300; at += 100) {
        told(BWL_BUSY, at);
        assert_int_equal(fx.wake_at, at + 100);
        alarm_at(at + 100);
        expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    }
    told(BWL_BUSY, START + 300);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
    assert_int_equal(hold.claim.attempt, 4);
}

static void test_rules_pause_is_cut_short_by_the_end_of_the_wait(void **state)
{
    static const bwl_rules rules = { .pause_ms = 100 };

    (void)state;
    rule_with(&rules);
    acquire(START, START + 30);
    told(BWL_BUSY, START);
    assert_int_equal(fx.wake_at, START + 30);
}

static void test_rules_tries_are_counted(void **state)
{
    static const bwl_rules rules = { .tries_max = 3 };

    (void)state;
    rule_with(&rules);
    acquire(START, BWL_NEVER);
    for (unsigned i = 1; i < 3; i++) {
        told(BWL_BUSY, START);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_ACQUIRING, BWL_PENDING, BWL_ACQUIRE);
    }
    told(BWL_BUSY, START);
    expect(BWL_HOLD_OVER, BWL_TIMED_OUT, 0);
}

static void test_rules_are_in_the_claim(void **state)
{
    static const bwl_rules rules = { .tries_max = 3 };

    (void)state;
    assert_null(hold.claim.rules);
    rule_with(&rules);
    assert_ptr_equal(hold.claim.rules, &rules);
}

static void shaped_command(void *s, const bwl_claim *claim, const bwl_command *cmd,
                           bwl_effects *effects)
{
    (void)s;
    (void)cmd;
    (void)effects;
    assert_int_equal(strlen(claim->token), 36);
}

static void test_rules_shape_the_token(void **state)
{
    static const bwl_rules rules = { .token = BWL_TOKEN_UUID };
    bwl_protocol           other = unsettled_protocol;

    (void)state;
    other.command = shaped_command;
    terms.rules   = &rules;
    bwl_hold_init(&hold, &other, 1, &terms);
    acquire(START, START);
    assert_int_equal(hold.claim.token[14], '4');
}

static void clocked_command(void *s, const bwl_claim *claim, const bwl_command *cmd,
                            bwl_effects *effects)
{
    (void)s;
    (void)claim;
    fake.cmd = *cmd;
    bwl_ask_node(effects, 0, cmd->verb, 1);
}

static void test_time_of_day_comes_with_every_command(void **state)
{
    bwl_protocol other  = unsettled_protocol;
    bwl_random   random = fresh();

    (void)state;
    other.uses_wall = true;
    other.command   = clocked_command;
    bwl_hold_init(&hold, &other, 1, &terms);
    fx = (bwl_effects){ 0 };
    bwl_hold_acquire(&hold, &random, (bwl_moment){ .now = START, .wall_ns = 111 }, BWL_NEVER, &fx);
    assert_int_equal(fake.cmd.wall_ns, 111);
    told(BWL_BUSY, START);

    bwl_event ev = { .kind = BWL_ALARM, .now = fx.wake_at, .wall_ns = 222, .fresh = fresh() };
    fx           = (bwl_effects){ 0 };
    bwl_hold_event(&hold, &ev, &fx);
    assert_int_equal(fake.cmd.wall_ns, 222);
    told(BWL_HELD, START + 1000);

    fx = (bwl_effects){ 0 };
    bwl_hold_release(&hold, (bwl_moment){ .now = START + 1001, .wall_ns = 333 }, &fx);
    assert_int_equal(fake.cmd.wall_ns, 333);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_unsettled_acquire_without_an_answer_is_unknown_at_once,
                               new_unsettled),
        cmocka_unit_test_setup(test_unsettled_grant_that_came_too_late_is_left_alone,
                               new_unsettled),
        cmocka_unit_test_setup(
            test_unsettled_cancel_waits_for_the_answer_and_gives_back_what_is_ours, new_unsettled),
        cmocka_unit_test_setup(test_unsettled_cancel_asks_nothing_when_it_is_not_surely_ours,
                               new_unsettled),
        cmocka_unit_test_setup(test_unsettled_cancel_during_a_pause_ends_it, new_unsettled),
        cmocka_unit_test_setup(test_unsettled_hold_is_never_renewed, new_unsettled),
        cmocka_unit_test_setup(test_unsettled_hold_that_ends_by_max_hold_is_given_back,
                               new_unsettled),
        cmocka_unit_test_setup(test_unsettled_hold_without_end_has_none, new_unsettled),
        cmocka_unit_test_setup(test_unsettled_hold_that_the_store_disowns_is_lost_and_not_deleted,
                               new_unsettled),
        cmocka_unit_test_setup(test_rules_pause_is_used_between_tries, new_unsettled),
        cmocka_unit_test_setup(test_rules_pause_is_cut_short_by_the_end_of_the_wait, new_unsettled),
        cmocka_unit_test_setup(test_rules_tries_are_counted, new_unsettled),
        cmocka_unit_test_setup(test_rules_are_in_the_claim, new_unsettled),
        cmocka_unit_test_setup(test_rules_shape_the_token, new_unsettled),
        cmocka_unit_test_setup(test_time_of_day_comes_with_every_command, new_unsettled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
