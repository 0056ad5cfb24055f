/*
 * test_symfony.c -- a lock of Symfony: what is asked, what each answer means.
 */
#include "machine_fixture.h"

enum { UNTIL = NOW + LEASE_MS - LEASE_MS / 100 - 2 };

static int begin(void **state)
{
    (void)state;
    begin_with(&bwl_symfony, bwl_protocol_rules(&bwl_symfony));
    return 0;
}

static void expect_held(bwl_ms until)
{
    expect_told(BWL_HELD);
    assert_int_equal(fx.outcome.until, until);
    assert_int_equal(fx.outcome.fence, 0);
}

static void be_taking(void)
{
    (void)begin(NULL);
    acquire();
    expect_ask(REDIS_ZSET_TAKE, 0);
}

static void be_held(void)
{
    be_taking();
    says(BWL_YES);
    expect_held(UNTIL);
}

static void be_extending(void)
{
    be_held();
    time_passes(1000);
    command((bwl_command){ .verb = BWL_EXTEND });
    expect_ask(REDIS_ZSET_EXTEND, 0);
}

static void be_releasing(void)
{
    be_held();
    time_passes(1000);
    release();
    expect_ask(REDIS_ZSET_RELEASE, 0);
}

static void test_acquire_counts_its_lease_from_the_question(void **state)
{
    (void)state;
    be_taking();
    time_passes(500);
    says(BWL_YES);
    expect_held(UNTIL);
}

static void test_acquire_that_finds_another_member_is_busy(void **state)
{
    (void)state;
    be_taking();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

/* The member may have been set by the question that had no answer: its lease has run since then. */
static void test_acquire_asked_again_keeps_the_lease_of_the_first_question(void **state)
{
    (void)state;
    be_taking();
    cut();
    expect_told(BWL_UNKNOWN);
    time_passes(2000);
    command((bwl_command){ .verb = BWL_ACQUIRE, .again = true });
    expect_ask(REDIS_ZSET_TAKE, 0);
    says(BWL_YES);
    expect_held(UNTIL);
}

static void test_extend_begins_a_new_lease(void **state)
{
    (void)state;
    be_extending();
    time_passes(300);
    says(BWL_YES);
    expect_held(UNTIL + 1000);
}

static void test_extend_and_release_that_find_another_member_are_lost(void **state)
{
    (void)state;
    be_extending();
    says(BWL_NO);
    expect_told(BWL_LOST);
    be_releasing();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

static void test_release_that_removed_the_member_is_released(void **state)
{
    (void)state;
    be_releasing();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

static void test_release_may_interrupt_an_acquire(void **state)
{
    (void)state;
    be_taking();
    uint32_t taken = open_tag;
    release();
    expect_ask(REDIS_ZSET_RELEASE, 0);
    happens((bwl_event){ .kind = BWL_REPLY, .answer = BWL_YES, .tag = taken });
    expect_nothing();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

static void test_what_was_not_carried_out_or_not_answered_is_told(void **state)
{
    (void)state;
    expect_failures_told(be_taking, BWL_UNKNOWN);
    expect_failures_told(be_extending, BWL_UNKNOWN);
    expect_failures_told(be_releasing, BWL_UNKNOWN);
    expect_deaf_to_others(be_taking);
    expect_deaf_to_others(be_extending);
    expect_deaf_to_others(be_releasing);
}

static void test_it_says_what_it_is(void **state)
{
    (void)state;
    assert_true(bwl_symfony.extends);
    assert_true(bwl_symfony.settles);
    assert_true(bwl_symfony.hears);
    assert_true(bwl_symfony.uses_token);
    assert_false(bwl_symfony.listens);
    assert_null(bwl_symfony.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_acquire_counts_its_lease_from_the_question, begin),
        cmocka_unit_test_setup(test_acquire_that_finds_another_member_is_busy, begin),
        cmocka_unit_test_setup(test_acquire_asked_again_keeps_the_lease_of_the_first_question,
                               begin),
        cmocka_unit_test_setup(test_extend_begins_a_new_lease, begin),
        cmocka_unit_test_setup(test_extend_and_release_that_find_another_member_are_lost, begin),
        cmocka_unit_test_setup(test_release_that_removed_the_member_is_released, begin),
        cmocka_unit_test_setup(test_release_may_interrupt_an_acquire, begin),
        cmocka_unit_test_setup(test_what_was_not_carried_out_or_not_answered_is_told, begin),
        cmocka_unit_test_setup(test_it_says_what_it_is, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
