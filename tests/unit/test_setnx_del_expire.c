/*
 * test_setnx_del_expire.c -- SETNX, DEL, and EXPIRE 0 when the DEL did not succeed.
 */
#include "machine_fixture.h"

static int begin(void **state)
{
    (void)state;
    begin_with(&bwl_setnx_del_expire, bwl_protocol_rules(&bwl_setnx_del_expire));
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
    release();
    expect_ask(REDIS_DELETE, 0);
}

static void be_expiring_after_nothing(void)
{
    be_deleting();
    says(BWL_NO);
    expect_ask(REDIS_EXPIRE_NOW, 0);
}

static void be_expiring_after_no_answer(void)
{
    be_deleting();
    cut();
    expect_ask(REDIS_EXPIRE_NOW, 0);
}

static void test_acquire_has_no_end(void **state)
{
    (void)state;
    be_setting();
    says(BWL_YES);
    expect_held_until(BWL_NEVER);
    be_setting();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void test_release_that_succeeds_needs_no_second(void **state)
{
    (void)state;
    be_deleting();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

static void test_after_a_delete_of_nothing_it_was_not_ours_whatever_expires_now(void **state)
{
    static const bwl_answer answers[] = { BWL_YES, BWL_NO, BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        be_expiring_after_nothing();
        says(answers[i]);
        expect_told(BWL_LOST);
    }
    be_expiring_after_nothing();
    cut();
    expect_told(BWL_LOST);
}

static void test_after_a_delete_without_an_answer_only_a_yes_is_one(void **state)
{
    static const bwl_answer answers[] = { BWL_NO, BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    be_expiring_after_no_answer();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
    for (unsigned i = 0; i < 4; i++) {
        be_expiring_after_no_answer();
        says(answers[i]);
        expect_told(BWL_UNKNOWN);
    }
    be_expiring_after_no_answer();
    cut();
    expect_told(BWL_UNKNOWN);
}

static void test_a_late_answer_to_the_delete_is_not_heard(void **state)
{
    uint32_t tag;

    (void)state;
    be_deleting();
    tag = open_tag;
    cut();
    expect_ask(REDIS_EXPIRE_NOW, 0);
    happens((bwl_event){ .kind = BWL_REPLY, .answer = BWL_YES, .tag = tag });
    expect_nothing();
}

static void test_what_was_not_carried_out_or_not_answered_is_told(void **state)
{
    (void)state;
    expect_failures_told(be_setting, BWL_UNKNOWN);
    expect_failures_told(be_deleting, BWL_PENDING);
    expect_ask(REDIS_EXPIRE_NOW, 0); /* without an answer */
    expect_deaf_to_others(be_setting);
    expect_deaf_to_others(be_deleting);
    expect_deaf_to_others(be_expiring_after_nothing);
}

static void test_it_says_what_it_is(void **state)
{
    (void)state;
    assert_false(bwl_setnx_del_expire.extends);
    assert_false(bwl_setnx_del_expire.settles);
    assert_non_null(bwl_setnx_del_expire.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_acquire_has_no_end, begin),
        cmocka_unit_test_setup(test_release_that_succeeds_needs_no_second, begin),
        cmocka_unit_test_setup(test_after_a_delete_of_nothing_it_was_not_ours_whatever_expires_now,
                               begin),
        cmocka_unit_test_setup(test_after_a_delete_without_an_answer_only_a_yes_is_one, begin),
        cmocka_unit_test_setup(test_a_late_answer_to_the_delete_is_not_heard, begin),
        cmocka_unit_test_setup(test_what_was_not_carried_out_or_not_answered_is_told, begin),
        cmocka_unit_test_setup(test_it_says_what_it_is, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
