/*
 * test_setnx_expire_watch.c -- SETNX and EXPIRE, the waiter's repair, the release under WATCH.
 */
#include "machine_fixture.h"

static int begin(void **state)
{
    (void)state;
    begin_with(&bwl_setnx_expire_watch, bwl_protocol_rules(&bwl_setnx_expire_watch));
    return 0;
}

static void be_setting(void)
{
    (void)begin(NULL);
    acquire();
    expect_ask(REDIS_SETNX, 0);
}

static void be_expiring(void)
{
    be_setting();
    time_passes(300);
    says(BWL_YES);
    expect_ask(REDIS_EXPIRE, 0);
}

static void be_checking(void)
{
    be_setting();
    says(BWL_NO);
    expect_ask(REDIS_READ_EXPIRY, 0);
}

static void be_inspecting(void)
{
    be_checking();
    says_number(REDIS_NO_EXPIRY);
    expect_ask(REDIS_READ, 0);
}

static void be_repairing(void)
{
    be_inspecting();
    shows(0, false);
    expect_ask(REDIS_EXPIRE, 0);
}

static void be_recalling(void)
{
    be_setting();
    cut();
    command((bwl_command){ .verb = BWL_ACQUIRE, .again = true });
    expect_ask(REDIS_READ, 0);
}

static void be_holding(void)
{
    be_expiring();
    says(BWL_YES);
}

static void be_watching(void)
{
    be_holding();
    release();
    expect_ask(REDIS_WATCH_READ, 0);
}

static void be_deleting(void)
{
    be_watching();
    shows(0, true);
    expect_ask(REDIS_DELETE_WATCHED, 0);
}

static void be_unwatching(void)
{
    be_watching();
    shows(0, false);
    expect_ask(REDIS_UNWATCH, 0);
}

/* ---- acquire --------------------------------------------------------------------------------- */

static void test_lease_counts_from_before_the_expire(void **state)
{
    (void)state;
    be_expiring();
    time_passes(40);
    says(BWL_YES);
    expect_held_until(NOW + 300 + LEASE_MS - 102);
}

static void test_key_that_is_gone_at_expire_is_not_ours(void **state)
{
    (void)state;
    be_expiring();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void test_expire_that_was_not_carried_out_is_settled_not_given_up(void **state)
{
    static const bwl_answer answers[] = { BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        be_expiring();
        says(answers[i]);
        expect_told(BWL_UNKNOWN);
    }
    be_expiring();
    cut();
    expect_told(BWL_UNKNOWN);
}

static void test_waiter_repairs_a_key_without_an_expiry(void **state)
{
    static const bwl_answer answers[] = { BWL_YES, BWL_NO };

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        be_repairing();
        says(answers[i]);
        expect_told(BWL_BUSY);
    }
}

static void test_waiter_leaves_a_key_with_an_expiry_alone(void **state)
{
    static const uint64_t seconds[] = { 0, 1, 50, REDIS_NO_EXPIRY - 1 };

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        be_checking();
        says_number(seconds[i]);
        expect_told(BWL_BUSY);
    }
    be_checking();
    says(BWL_NO); /* there is no key: the next try takes it */
    expect_told(BWL_BUSY);
}

static void test_waiter_does_not_repair_what_is_no_lock_of_this_kind(void **state)
{
    (void)state;
    be_inspecting();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
    be_inspecting();
    says(BWL_NO); /* it has gone meanwhile */
    expect_told(BWL_BUSY);
}

/* ---- settling -------------------------------------------------------------------------------- */

static void test_settling_finds_our_own_value(void **state)
{
    (void)state;
    be_recalling();
    time_passes(900);
    shows(0, true);
    expect_ask(REDIS_EXPIRE, 0);
    says(BWL_YES);
    expect_held_until(NOW + 900 + LEASE_MS - 102);
}

static void test_settling_finds_nothing_and_sets_again(void **state)
{
    (void)state;
    be_recalling();
    says(BWL_NO);
    expect_ask(REDIS_SETNX, 0);
    says(BWL_YES);
    expect_ask(REDIS_EXPIRE, 0);
}

static void test_settling_finds_somebody_else(void **state)
{
    (void)state;
    be_recalling();
    shows(0, false);
    expect_told(BWL_BUSY);
    be_recalling();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
}

/* ---- release --------------------------------------------------------------------------------- */

static void test_release_of_what_is_ours(void **state)
{
    (void)state;
    be_deleting();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

static void test_release_begins_again_when_the_key_was_touched(void **state)
{
    (void)state;
    be_deleting();
    says(BWL_NO);
    expect_told(BWL_NOT_NOW);
    release();
    expect_ask(REDIS_WATCH_READ, 0);
    shows(0, true);
    expect_ask(REDIS_DELETE_WATCHED, 0);
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

static void test_release_of_what_is_not_ours_unwatches(void **state)
{
    static const bwl_answer answers[] = { BWL_YES, BWL_NO, BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        be_unwatching();
        says(answers[i]);
        expect_told(BWL_LOST);
    }
    be_unwatching();
    cut();
    expect_told(BWL_LOST);
    be_watching();
    says(BWL_NO);
    expect_ask(REDIS_UNWATCH, 0);
    be_watching();
    says(BWL_ALIEN);
    expect_ask(REDIS_UNWATCH, 0);
}

static void test_release_interrupts_whatever_is_asked(void **state)
{
    static void (*const places[])(void) = { be_setting, be_expiring, be_checking, be_repairing,
                                            be_recalling };

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        places[i]();
        uint32_t tag = open_tag;
        release();
        expect_ask(REDIS_WATCH_READ, 0);
        happens((bwl_event){ .kind = BWL_REPLY, .answer = BWL_YES, .tag = tag });
        expect_nothing();
        shows(0, true);
        expect_ask(REDIS_DELETE_WATCHED, 0);
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_what_was_not_carried_out_or_not_answered_is_told(void **state)
{
    static void (*const places[])(void) = { be_setting,   be_checking, be_inspecting, be_repairing,
                                            be_recalling, be_watching, be_deleting };

    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        expect_failures_told(places[i], BWL_UNKNOWN);
        expect_deaf_to_others(places[i]);
    }
    expect_deaf_to_others(be_expiring);
    expect_deaf_to_others(be_unwatching);
}

static void test_it_says_what_it_is(void **state)
{
    (void)state;
    assert_false(bwl_setnx_expire_watch.extends);
    assert_true(bwl_setnx_expire_watch.settles);
    assert_false(bwl_setnx_expire_watch.uses_wall);
    assert_non_null(bwl_setnx_expire_watch.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lease_counts_from_before_the_expire, begin),
        cmocka_unit_test_setup(test_key_that_is_gone_at_expire_is_not_ours, begin),
        cmocka_unit_test_setup(test_expire_that_was_not_carried_out_is_settled_not_given_up, begin),
        cmocka_unit_test_setup(test_waiter_repairs_a_key_without_an_expiry, begin),
        cmocka_unit_test_setup(test_waiter_leaves_a_key_with_an_expiry_alone, begin),
        cmocka_unit_test_setup(test_waiter_does_not_repair_what_is_no_lock_of_this_kind, begin),
        cmocka_unit_test_setup(test_settling_finds_our_own_value, begin),
        cmocka_unit_test_setup(test_settling_finds_nothing_and_sets_again, begin),
        cmocka_unit_test_setup(test_settling_finds_somebody_else, begin),
        cmocka_unit_test_setup(test_release_of_what_is_ours, begin),
        cmocka_unit_test_setup(test_release_begins_again_when_the_key_was_touched, begin),
        cmocka_unit_test_setup(test_release_of_what_is_not_ours_unwatches, begin),
        cmocka_unit_test_setup(test_release_interrupts_whatever_is_asked, begin),
        cmocka_unit_test_setup(test_what_was_not_carried_out_or_not_answered_is_told, begin),
        cmocka_unit_test_setup(test_it_says_what_it_is, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
