/*
 * test_setnx_stamp_del.c -- a stamp in the key, and DEL and SETNX when it has expired.
 */
#include "machine_fixture.h"

enum { START = 1700000000 };

static bwl_rules rules;

static int begin(void **state)
{
    (void)state;
    rules = *bwl_protocol_rules(&bwl_setnx_stamp_del);
    begin_with(&bwl_setnx_stamp_del, &rules);
    return 0;
}

static void be_setting(void)
{
    begin_with(&bwl_setnx_stamp_del, &rules);
    acquire();
    expect_ask(REDIS_SETNX, START + 10);
}

static void be_reading(void)
{
    be_setting();
    says(BWL_NO);
    expect_ask(REDIS_READ, 0);
}

/* An expired stamp was shown; the key has no expiry. */
static void expect_delete(void)
{
    expect_ask(REDIS_FIND_NO_EXPIRY, 0);
    says(BWL_YES);
    expect_ask(REDIS_DELETE, 0);
}

static void be_checking(void)
{
    be_reading();
    shows(START, false);
    expect_ask(REDIS_FIND_NO_EXPIRY, 0);
}

static void be_deleting(void)
{
    be_reading();
    time_passes(2000);
    shows(START, false);
    expect_delete();
}

static void be_setting_again(void)
{
    be_deleting();
    time_passes(1000);
    says(BWL_YES);
    expect_ask(REDIS_SETNX, START + 13); /* time() is looked at again */
}

static void be_releasing(void)
{
    be_setting();
    says(BWL_YES);
    release();
    expect_ask(REDIS_DELETE, 0);
}

static void test_first_set_is_worth_its_stamp(void **state)
{
    (void)state;
    wall += 400 * MS_NS; /* of the ten seconds, 9.6 are left */
    acquire();
    expect_ask(REDIS_SETNX, START + 10);
    time_passes(50);
    says(BWL_YES);
    expect_held_until(NOW + 9600 - 102);
}

static void test_stamp_that_is_now_has_expired_and_one_that_is_ahead_not(void **state)
{
    (void)state;
    be_reading();
    shows(START + 1, false);
    expect_told(BWL_BUSY);
    be_reading();
    shows(START, false);
    expect_delete();
    be_reading();
    time_passes(1000); /* it looks at the time after the answer */
    shows(START + 1, false);
    expect_delete();
}

static void test_strictness_is_a_rule(void **state)
{
    (void)state;
    rules.expired = BWL_STAMP_BEFORE_NOW;
    be_reading();
    shows(START, false);
    expect_told(BWL_BUSY);
    be_reading();
    shows(START - 1, false);
    expect_delete();
}

static void test_key_that_is_gone_counts_as_expired_or_as_held(void **state)
{
    (void)state;
    be_reading();
    says(BWL_NO);
    expect_ask(REDIS_DELETE, 0);
    rules.gone = BWL_GONE_START_OVER;
    be_reading();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void test_value_of_a_stranger_is_left_alone(void **state)
{
    (void)state;
    be_reading();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
}

static void test_key_with_an_expiry_is_not_deleted(void **state)
{
    (void)state;
    be_checking();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
    be_checking();
    says(BWL_NO); /* gone: for the next try */
    expect_told(BWL_BUSY);
}

static void test_who_deletes_nothing_gives_up(void **state)
{
    (void)state;
    be_deleting();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void test_second_set_decides(void **state)
{
    (void)state;
    be_setting_again();
    says(BWL_NO);
    expect_told(BWL_BUSY);
    be_setting_again();
    says(BWL_YES);
    expect_held_until(NOW + 3000 + 10000 - 102);
}

static void test_release_is_blind(void **state)
{
    (void)state;
    be_releasing();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
    be_releasing();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

static void test_what_was_not_carried_out_or_not_answered_is_told(void **state)
{
    static void (*const places[])(void) = { be_setting,  be_reading,       be_checking,
                                            be_deleting, be_setting_again, be_releasing };

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        expect_failures_told(places[i], BWL_UNKNOWN);
        expect_deaf_to_others(places[i]);
    }
}

static void test_it_says_what_it_is(void **state)
{
    (void)state;
    assert_false(bwl_setnx_stamp_del.extends);
    assert_false(bwl_setnx_stamp_del.settles);
    assert_true(bwl_setnx_stamp_del.uses_wall);
    assert_non_null(bwl_setnx_stamp_del.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_first_set_is_worth_its_stamp, begin),
        cmocka_unit_test_setup(test_stamp_that_is_now_has_expired_and_one_that_is_ahead_not, begin),
        cmocka_unit_test_setup(test_strictness_is_a_rule, begin),
        cmocka_unit_test_setup(test_key_that_is_gone_counts_as_expired_or_as_held, begin),
        cmocka_unit_test_setup(test_value_of_a_stranger_is_left_alone, begin),
        cmocka_unit_test_setup(test_key_with_an_expiry_is_not_deleted, begin),
        cmocka_unit_test_setup(test_who_deletes_nothing_gives_up, begin),
        cmocka_unit_test_setup(test_second_set_decides, begin),
        cmocka_unit_test_setup(test_release_is_blind, begin),
        cmocka_unit_test_setup(test_what_was_not_carried_out_or_not_answered_is_told, begin),
        cmocka_unit_test_setup(test_it_says_what_it_is, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
