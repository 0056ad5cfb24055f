/*
 * test_setnx_getset.c -- SETNX, GET, GETSET: every parameter of an acquire, on both sides of each
 * boundary.
 */
#include "getset_fixture.h"

/* ---- acquire --------------------------------------------------------------------------------- */

static void test_first_set_is_worth_its_stamp(void **state)
{
    (void)state;
    wall += 250 * MS_NS;
    acquire();
    expect_ask(REDIS_SETNX, START + 10);
    time_passes(77);
    says(BWL_YES);
    expect_held_until(NOW + 9750 - 102);
}

static void test_expired_is_not_after_now(void **state)
{
    (void)state;
    be_reading();
    shows(START + 1, false);
    expect_told(BWL_BUSY);
    be_reading();
    shows(START, false);
    expect_swap(START + 10);
}

static void test_expired_is_before_now(void **state)
{
    (void)state;
    rules.expired = BWL_STAMP_BEFORE_NOW;
    be_reading();
    shows(START, false);
    expect_told(BWL_BUSY);
    be_reading();
    shows(START - 1, false);
    expect_swap(START + 10);
}

static void test_strictness_decides_at_getset_too(void **state)
{
    (void)state;
    rules.wins = BWL_WINS_IF_EXPIRED;
    be_swapping();
    shows(START, false);
    expect_told(BWL_HELD);
    rules.expired = BWL_STAMP_BEFORE_NOW;
    be_swapping();
    shows(START, false);
    expect_told(BWL_BUSY);
    be_swapping();
    shows(START - 1, false);
    expect_told(BWL_HELD);
}

static void test_same_bytes_win_and_others_lose_however_old(void **state)
{
    (void)state;
    be_swapping();
    shows(5, false);
    expect_told(BWL_HELD);
    be_swapping();
    shows(4, false);
    expect_told(BWL_BUSY);
    be_swapping();
    shows(START + 100, false);
    expect_told(BWL_BUSY);
}

static void test_same_stamp_in_other_bytes_is_not_the_same(void **state)
{
    (void)state;
    be_swapping();
    happens((bwl_event){ .kind = BWL_REPLY, .answer = BWL_YES, .number = 5, .print = 4711 });
    expect_told(BWL_BUSY);
}

static void test_expired_wins_whatever_get_had_shown(void **state)
{
    (void)state;
    go_by(&bwl_rules_buffers);
    be_swapping();
    shows(START_MS - 1, false);
    expect_told(BWL_HELD);
    be_swapping();
    shows(START_MS, false);
    expect_told(BWL_BUSY);
}

static void test_gone_for_get_is_a_chance_or_a_new_start(void **state)
{
    (void)state;
    be_reading();
    says(BWL_NO);
    expect_ask(REDIS_SWAP, START + 10);
    rules.gone = BWL_GONE_START_OVER;
    be_reading();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void be_swapping_after_nothing(void)
{
    be_reading();
    says(BWL_NO);
    expect_ask(REDIS_SWAP, stamp_now());
}

static void test_missing_is_the_same_as_missing(void **state)
{
    (void)state;
    be_swapping_after_nothing();
    says(BWL_NO);
    expect_told(BWL_HELD);
    be_swapping_after_nothing();
    shows(5, false); /* false != "5" */
    expect_told(BWL_BUSY);
    be_swapping();
    says(BWL_NO); /* "5" != false */
    expect_told(BWL_BUSY);
    rules.missing_wins = false;
    be_swapping_after_nothing();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void test_missing_has_expired_or_not(void **state)
{
    (void)state;
    rules.wins = BWL_WINS_IF_EXPIRED;
    be_swapping();
    says(BWL_NO);
    expect_told(BWL_HELD);
    be_swapping_after_nothing();
    says(BWL_NO);
    expect_told(BWL_HELD);
    rules.missing_wins = false;
    be_swapping();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

static void test_value_of_a_stranger_never_wins(void **state)
{
    (void)state;
    be_reading();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
    for (int wins = BWL_WINS_IF_EXPIRED; wins <= BWL_WINS_IF_SAME; wins++) {
        rules.wins = (bwl_wins)wins;
        be_swapping();
        says(BWL_ALIEN);
        expect_told(BWL_BUSY);
        be_swapping_after_nothing();
        says(BWL_ALIEN);
        expect_told(BWL_BUSY);
    }
}

/* ---- the expiry of the key ------------------------------------------------------------------- */

static void test_key_with_an_expiry_is_not_taken(void **state)
{
    (void)state;
    be_checking();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
    rules.gone = BWL_GONE_START_OVER;
    be_checking();
    says(BWL_ALIEN);
    expect_told(BWL_BUSY);
}

/* A GETSET now would leave our stamp in the key, and nobody would hold the lock. */
static void test_key_that_has_gone_meanwhile_is_left_to_the_next_try(void **state)
{
    (void)state;
    be_checking();
    says(BWL_NO);
    expect_told(BWL_BUSY);
}

/* ---- how often the time is read -------------------------------------------------------------- */

static void test_time_is_read_always(void **state)
{
    (void)state;
    be_reading();
    time_passes(3000);
    shows(START + 3, false); /* has expired by now */
    expect_swap(START + 13);
    time_passes(500);
    shows(START + 3, false);
    expect_held_until(NOW + 3000 + 10000 - 102);
}

static void test_time_of_the_stamp_is_read_once(void **state)
{
    (void)state;
    rules.reads = BWL_READS_STAMP_ONCE;
    be_reading();
    time_passes(3000);
    shows(START + 3, false);
    expect_swap(START + 10);
    shows(START + 3, false);
    expect_held_until(NOW + 10000 - 102);
}

static void test_time_is_read_once(void **state)
{
    (void)state;
    rules.reads = BWL_READS_ONCE;
    rules.wins  = BWL_WINS_IF_EXPIRED;
    be_reading();
    time_passes(3000);
    shows(START + 3, false); /* not by the time that was read */
    expect_told(BWL_BUSY);
    be_reading();
    time_passes(3000);
    shows(START, false);
    expect_swap(START + 10);
    time_passes(3000);
    shows(START + 1, false);
    expect_told(BWL_BUSY);
}

static void test_every_try_reads_the_time_anew(void **state)
{
    (void)state;
    rules.reads = BWL_READS_ONCE;
    be_reading();
    shows(START + 1, false);
    expect_told(BWL_BUSY);
    time_passes(1000);
    acquire();
    expect_ask(REDIS_SETNX, START + 11);
    says(BWL_NO);
    expect_ask(REDIS_READ, START + 11);
    shows(START + 1, false);
    expect_swap(START + 11);
}

static void test_what_get_showed_in_an_earlier_try_is_forgotten(void **state)
{
    (void)state;
    be_swapping();
    shows(4, false);
    expect_told(BWL_BUSY);
    acquire();
    expect_ask(REDIS_SETNX, START + 10);
    says(BWL_NO);
    expect_ask(REDIS_READ, START + 10);
    says(BWL_NO);
    expect_ask(REDIS_SWAP, START + 10);
    shows(5, false);
    expect_told(BWL_BUSY);
}

/* ---- units and extras ------------------------------------------------------------------------ */

static void test_units_and_extras_are_in_the_stamp(void **state)
{
    (void)state;
    go_by(&bwl_rules_buffers);
    wall += 1234567;
    acquire();
    expect_ask(REDIS_SETNX, START_MS + 1 + 10000 + 1);
    says(BWL_YES);
    expect_held_until(NOW + 10000 - 102); /* 10000.765 ms */

    go_by(&bwl_rules_seconds);
    rules.unit_ns  = 1;
    rules.extra_ns = 1500 * MS_NS;
    wall += 123;
    acquire();
    expect_ask(REDIS_SETNX, WALL + 123 + 11500 * MS_NS);
}

static void test_stamp_may_be_when_it_began(void **state)
{
    (void)state;
    rules.stamp_is_start = true;
    begin_with(&bwl_setnx_getset, &rules);
    wall += 300 * MS_NS;
    acquire();
    expect_ask(REDIS_SETNX, START);
    says(BWL_NO);
    expect_ask(REDIS_READ, START);
    shows(START - 9, false);
    expect_told(BWL_BUSY);
    acquire();
    expect_ask(REDIS_SETNX, START);
    says(BWL_YES);
    expect_held_until(NOW + 9700 - 102);
    acquire();
    expect_ask(REDIS_SETNX, START);
    says(BWL_NO);
    expect_ask(REDIS_READ, START);
    shows(START - 10, false);
    expect_swap(START);
}

static void test_articles_differ_as_they_say(void **state)
{
    (void)state;
    assert_int_equal(bwl_rules_jedis.pause_ms, 100);
    assert_int_equal(bwl_rules_jedis.wait_ms, 300);
    assert_int_equal(bwl_rules_jedis.lease_ms, 300000);
    go_by(&bwl_rules_jedis); /* its code: the same string, nothing missing */
    be_reading();
    says(BWL_NO);
    expect_told(BWL_BUSY);
    be_reading();
    shows(START_MS, false); /* < now, and now is the same */
    expect_told(BWL_BUSY);
    be_swapping();
    says(BWL_NO);
    expect_told(BWL_BUSY);
    be_swapping();
    shows(6, false);
    expect_told(BWL_BUSY);
    go_by(&bwl_rules_lock_foo); /* its summary: below now */
    be_swapping();
    shows(6, false);
    expect_told(BWL_HELD);
    go_by(&bwl_rules_buffers);
    be_reading();
    says(BWL_NO);
    expect_ask(REDIS_SWAP, START_MS + 10001);
    assert_int_equal(bwl_rules_buffers.tries_max, 0);
}

static void test_it_says_what_it_is(void **state)
{
    (void)state;
    assert_false(bwl_setnx_getset.extends);
    assert_false(bwl_setnx_getset.settles);
    assert_true(bwl_setnx_getset.uses_wall);
    assert_non_null(bwl_protocol_fault(&bwl_setnx_getset, &bwl_rules_seconds));
    assert_null(bwl_protocol_fault(&bwl_setnx_getset, &bwl_rules_server));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_first_set_is_worth_its_stamp, begin),
        cmocka_unit_test_setup(test_expired_is_not_after_now, begin),
        cmocka_unit_test_setup(test_expired_is_before_now, begin),
        cmocka_unit_test_setup(test_strictness_decides_at_getset_too, begin),
        cmocka_unit_test_setup(test_same_bytes_win_and_others_lose_however_old, begin),
        cmocka_unit_test_setup(test_same_stamp_in_other_bytes_is_not_the_same, begin),
        cmocka_unit_test_setup(test_expired_wins_whatever_get_had_shown, begin),
        cmocka_unit_test_setup(test_gone_for_get_is_a_chance_or_a_new_start, begin),
        cmocka_unit_test_setup(test_missing_is_the_same_as_missing, begin),
        cmocka_unit_test_setup(test_missing_has_expired_or_not, begin),
        cmocka_unit_test_setup(test_value_of_a_stranger_never_wins, begin),
        cmocka_unit_test_setup(test_key_with_an_expiry_is_not_taken, begin),
        cmocka_unit_test_setup(test_key_that_has_gone_meanwhile_is_left_to_the_next_try, begin),
        cmocka_unit_test_setup(test_time_is_read_always, begin),
        cmocka_unit_test_setup(test_time_of_the_stamp_is_read_once, begin),
        cmocka_unit_test_setup(test_time_is_read_once, begin),
        cmocka_unit_test_setup(test_every_try_reads_the_time_anew, begin),
        cmocka_unit_test_setup(test_what_get_showed_in_an_earlier_try_is_forgotten, begin),
        cmocka_unit_test_setup(test_units_and_extras_are_in_the_stamp, begin),
        cmocka_unit_test_setup(test_stamp_may_be_when_it_began, begin),
        cmocka_unit_test_setup(test_articles_differ_as_they_say, begin),
        cmocka_unit_test_setup(test_it_says_what_it_is, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
