/*
 * test_setnx_del.c -- SETNX and DEL: what is asked, what each answer means.
 */
#include "machine_fixture.h"

static int begin(void **state)
{
    (void)state;
    begin_with(&bwl_setnx_del, bwl_protocol_rules(&bwl_setnx_del));
    return 0;
}

static void be_setting(void)
{
    (void)begin(NULL);
    acquire();
    expect_ask(REDIS_SETNX, 1700000000);
}

static void be_deleting(void)
{
    be_setting();
    says(BWL_YES);
    time_passes(1000000);
    release();
    expect_ask(REDIS_DELETE, 0);
}

static void test_acquire_writes_the_time_of_day_and_has_no_end(void **state)
{
    (void)state;
    wall += SECOND_NS - 1; /* time() is rounded down */
    acquire();
    expect_ask(REDIS_SETNX, 1700000000);
    time_passes(100000000);
    says(BWL_YES);
    expect_held_until(BWL_NEVER);
}

static void test_acquire_that_finds_a_key_is_busy(void **state)
{
    (void)state;
    be_setting();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void test_release_deletes_whatever_is_there(void **state)
{
    (void)state;
    be_deleting();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

static void test_release_that_finds_nothing_has_failed(void **state)
{
    (void)state;
    be_deleting();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

static void test_what_was_not_carried_out_or_not_answered_is_told(void **state)
{
    (void)state;
    expect_failures_told(be_setting, BWL_UNKNOWN);
    expect_failures_told(be_deleting, BWL_UNKNOWN);
    expect_deaf_to_others(be_setting);
    expect_deaf_to_others(be_deleting);
}

static void test_tries_follow_one_another(void **state)
{
    (void)state;
    be_setting();
    says(BWL_NO);
    time_passes(3000);
    acquire();
    expect_ask(REDIS_SETNX, 1700000003);
    says(BWL_YES);
    expect_held_until(BWL_NEVER);
}

static void test_it_says_what_it_is(void **state)
{
    (void)state;
    assert_false(bwl_setnx_del.extends);
    assert_false(bwl_setnx_del.settles);
    assert_true(bwl_setnx_del.uses_wall);
    assert_non_null(bwl_setnx_del.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_acquire_writes_the_time_of_day_and_has_no_end, begin),
        cmocka_unit_test_setup(test_acquire_that_finds_a_key_is_busy, begin),
        cmocka_unit_test_setup(test_release_deletes_whatever_is_there, begin),
        cmocka_unit_test_setup(test_release_that_finds_nothing_has_failed, begin),
        cmocka_unit_test_setup(test_what_was_not_carried_out_or_not_answered_is_told, begin),
        cmocka_unit_test_setup(test_tries_follow_one_another, begin),
        cmocka_unit_test_setup(test_it_says_what_it_is, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
