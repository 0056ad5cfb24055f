/*
 * test_setnx_getset_release.c -- what a release looks at, by each of its rules; the server's clock;
 * and what becomes of questions without an answer.
 */
#include "getset_fixture.h"

/* ---- release --------------------------------------------------------------------------------- */

static void test_release_is_blind(void **state)
{
    (void)state;
    be_deleting();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
    be_deleting();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

static void test_release_of_what_is_ahead(void **state)
{
    (void)state;
    go_by(&bwl_rules_buffers);
    be_deleting_ahead();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
    be_deleting_ahead();
    says(BWL_NO); /* gone between GET and DEL */
    expect_told(BWL_LOST);
}

static void test_release_looks_how_far_ahead_the_stamp_is(void **state)
{
    (void)state;
    go_by(&bwl_rules_buffers);
    be_looking();
    shows(START_MS + 4, true);
    expect_ask(REDIS_DELETE, 0);
    be_looking();
    shows(START_MS + 3, true); /* "absolutely must not release": it ends by itself */
    expect_told(BWL_RELEASED);
    be_looking();
    time_passes(10); /* it looks at the time after the answer */
    shows(START_MS + 13, true);
    expect_told(BWL_RELEASED);
    be_looking();
    shows(START_MS - 1, true);
    expect_told(BWL_RELEASED);
}

static void test_release_deletes_a_successor_whose_stamp_is_ahead(void **state)
{
    (void)state;
    go_by(&bwl_rules_buffers);
    be_looking();
    shows(START_MS + 20000, false);
    expect_ask(REDIS_DELETE, 0);
    says(BWL_YES);
    expect_told(BWL_LOST); /* what was deleted was not ours */
    be_looking();
    shows(START_MS + 3, false);
    expect_told(BWL_LOST);
}

static void test_release_of_what_is_not_there_or_a_strangers(void **state)
{
    static const bwl_release_rule kinds[] = { BWL_RELEASE_IF_AHEAD, BWL_RELEASE_IF_MINE };

    (void)state;
    go_by(&bwl_rules_buffers);
    for (unsigned i = 0; i < 2; i++) {
        rules.release = kinds[i];
        be_looking();
        says(BWL_NO);
        expect_told(BWL_LOST);
        be_looking();
        says(BWL_ALIEN);
        expect_told(BWL_LOST);
    }
}

static void test_release_of_what_is_mine(void **state)
{
    (void)state;
    rules.release = BWL_RELEASE_IF_MINE;
    be_looking();
    shows(START - 1000, true); /* however old */
    expect_ask(REDIS_DELETE, 0);
    says(BWL_YES);
    expect_told(BWL_RELEASED);
    be_looking();
    shows(START + 10, false);
    expect_told(BWL_LOST);
}

static void test_release_compares_with_what_was_written_last(void **state)
{
    (void)state;
    rules.release = BWL_RELEASE_IF_MINE;
    be_reading();
    time_passes(4000);
    shows(5, false);
    expect_swap(START + 14);
    shows(5, false);
    expect_told(BWL_HELD);
    release();
    expect_ask(REDIS_READ, START + 14);
}

/* ---- the server's clock ---------------------------------------------------------------------- */

static void be_taking(void)
{
    begin_with(&bwl_setnx_getset, &rules);
    acquire();
    expect_ask(REDIS_TAKE_STAMP, 0);
}

static void be_dropping(void)
{
    be_taking();
    says_number(START + 77);
    release();
    expect_ask(REDIS_DROP_STAMP, START + 77);
}

static void test_server_takes_in_one_step(void **state)
{
    (void)state;
    go_by(&bwl_rules_server);
    be_taking();
    time_passes(60);
    says_number(START + 77);
    expect_held_until(NOW + LEASE_MS - 102);
    be_taking();
    says(BWL_NO);
    expect_told(BWL_BUSY);
    be_taking();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
}

static void test_server_rounds_down_where_a_stamp_is_the_beginning(void **state)
{
    (void)state;
    go_by(&bwl_rules_server);
    rules.stamp_is_start = true;
    be_taking();
    says_number(START);
    expect_held_until(NOW + LEASE_MS - 102 - 1001);
}

static void test_server_drops_what_is_ours(void **state)
{
    (void)state;
    go_by(&bwl_rules_server);
    be_dropping();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
    be_dropping();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_what_was_not_carried_out_or_not_answered_is_told(void **state)
{
    static void (*const blind[])(void) = { be_setting, be_reading, be_checking, be_swapping,
                                           be_deleting };

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        expect_failures_told(blind[i], BWL_UNKNOWN);
        expect_deaf_to_others(blind[i]);
    }
    go_by(&bwl_rules_buffers);
    expect_failures_told(be_looking, BWL_UNKNOWN);
    expect_failures_told(be_deleting_ahead, BWL_UNKNOWN);
    expect_deaf_to_others(be_looking);
    go_by(&bwl_rules_server);
    expect_failures_told(be_taking, BWL_UNKNOWN);
    expect_failures_told(be_dropping, BWL_UNKNOWN);
    expect_deaf_to_others(be_taking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_release_is_blind, begin),
        cmocka_unit_test_setup(test_release_of_what_is_ahead, begin),
        cmocka_unit_test_setup(test_release_looks_how_far_ahead_the_stamp_is, begin),
        cmocka_unit_test_setup(test_release_deletes_a_successor_whose_stamp_is_ahead, begin),
        cmocka_unit_test_setup(test_release_of_what_is_not_there_or_a_strangers, begin),
        cmocka_unit_test_setup(test_release_of_what_is_mine, begin),
        cmocka_unit_test_setup(test_release_compares_with_what_was_written_last, begin),
        cmocka_unit_test_setup(test_server_takes_in_one_step, begin),
        cmocka_unit_test_setup(test_server_rounds_down_where_a_stamp_is_the_beginning, begin),
        cmocka_unit_test_setup(test_server_drops_what_is_ours, begin),
        cmocka_unit_test_setup(test_what_was_not_carried_out_or_not_answered_is_told, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
