/*
 * test_set_nx_ex.c -- SET NX EX and a blind DEL.
 */
#include "machine_fixture.h"

static int begin(void **state)
{
    (void)state;
    begin_with(&bwl_set_nx_ex, bwl_protocol_rules(&bwl_set_nx_ex));
    return 0;
}

static void be_setting(void)
{
    (void)begin(NULL);
    acquire();
    expect_ask(REDIS_SET_IF_ABSENT, 0);
}

static void be_deleting(void)
{
    be_setting();
    says(BWL_YES);
    release();
    expect_ask(REDIS_DELETE, 0);
}

static void test_acquire_is_worth_the_lease_from_before_the_question(void **state)
{
    (void)state;
    be_setting();
    time_passes(700);
    says(BWL_YES);
    expect_held_until(NOW + LEASE_MS - 102);
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

static void test_it_says_what_it_is(void **state)
{
    (void)state;
    assert_false(bwl_set_nx_ex.extends);
    assert_false(bwl_set_nx_ex.settles);
    assert_false(bwl_set_nx_ex.uses_wall);
    assert_non_null(bwl_set_nx_ex.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_acquire_is_worth_the_lease_from_before_the_question, begin),
        cmocka_unit_test_setup(test_acquire_that_finds_a_key_is_busy, begin),
        cmocka_unit_test_setup(test_release_deletes_whatever_is_there, begin),
        cmocka_unit_test_setup(test_what_was_not_carried_out_or_not_answered_is_told, begin),
        cmocka_unit_test_setup(test_it_says_what_it_is, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
