/*
 * test_seat.c -- a lock that others of the same client want too, step by step: the hold's part.
 */
#include "machine_fixture.h"
#include "protocol/store/seat.h"

static int new_machine(void **state)
{
    (void)state;
    begin_with(&bwl_seat_protocol, NULL);
    return 0;
}

static void expect_asked(bwl_seat_word word)
{
    assert_int_equal(fx.asks_count, 1);
    assert_int_equal(fx.asks[0].word, word);
    assert_int_equal(fx.outcome.kind, BWL_PENDING);
    open_tag = fx.asks[0].tag;
}

static void told(bwl_event_kind kind, bwl_answer answer, uint64_t number)
{
    bwl_event ev = {
        .kind = kind, .answer = answer, .tag = open_tag, .number = number, .until = NOW + 500
    };

    fx = (bwl_effects){ 0 };
    protocol->event(machine, &claim, &ev, &fx);
    assert_int_equal(fx.asks_count, 0);
}

static void be_held(void)
{
    acquire();
    expect_asked(SEAT_SIT);
    told(BWL_REPLY, BWL_NO, BWL_QUEUED);
    expect_told(BWL_QUEUED);
    told(BWL_PUSH, BWL_YES, 42);
    expect_told(BWL_HELD);
    assert_int_equal(fx.outcome.until, NOW + 500);
    assert_int_equal(fx.outcome.fence, 42);
}

static void test_seat_waits_and_is_told_its_turn(void **state)
{
    (void)state;
    be_held();
    release();
    expect_asked(SEAT_LEAVE);
    told(BWL_REPLY, BWL_YES, 0);
    expect_told(BWL_RELEASED);
}

static void test_seat_may_have_its_turn_at_once(void **state)
{
    (void)state;
    acquire();
    expect_asked(SEAT_SIT);
    told(BWL_REPLY, BWL_YES, 42);
    expect_told(BWL_HELD);
}

static void test_seat_that_is_refused_may_sit_down_again(void **state)
{
    static const bwl_outcome_kind whys[] = { BWL_STORE_REFUSED, BWL_FULL, BWL_UNREACHABLE };

    for (unsigned i = 0; i < sizeof whys / sizeof whys[0]; i++) {
        (void)new_machine(state);
        acquire();
        expect_asked(SEAT_SIT);
        told(BWL_REPLY, BWL_NO, BWL_QUEUED);
        told(BWL_PUSH, BWL_NO, whys[i]);
        expect_told(whys[i]);
        told(BWL_PUSH, BWL_YES, 42);
        expect_told(BWL_PENDING);
        acquire();
        expect_asked(SEAT_SIT);
    }
}

static void test_seat_hears_that_it_is_longer_in_trouble_and_lost(void **state)
{
    (void)state;
    be_held();
    told(BWL_PUSH, BWL_YES, 42);
    expect_told(BWL_HELD);
    told(BWL_PUSH, BWL_NO, BWL_UNKNOWN);
    expect_told(BWL_UNKNOWN);
    told(BWL_PUSH, BWL_NO, BWL_LOST);
    expect_told(BWL_LOST);
    told(BWL_PUSH, BWL_NO, BWL_LOST);
    expect_told(BWL_PENDING);
}

static void test_seat_extends(void **state)
{
    (void)state;
    be_held();
    command((bwl_command){ .verb = BWL_EXTEND });
    expect_asked(SEAT_EXTEND);
    told(BWL_REPLY, BWL_NO, BWL_NOT_NOW);
    expect_told(BWL_NOT_NOW);
    command((bwl_command){ .verb = BWL_EXTEND });
    expect_asked(SEAT_EXTEND);
    told(BWL_REPLY, BWL_YES, 42);
    expect_told(BWL_HELD);
    command((bwl_command){ .verb = BWL_EXTEND });
    expect_asked(SEAT_EXTEND);
    told(BWL_REPLY, BWL_NO, BWL_LOST);
    expect_told(BWL_LOST);
}

static void test_seat_that_leaves_hears_how_and_nothing_else(void **state)
{
    (void)state;
    be_held();
    command((bwl_command){ .verb = BWL_EXTEND });
    uint32_t extension = fx.asks[0].tag;
    release();
    expect_asked(SEAT_LEAVE);
    uint32_t leaving = open_tag;
    open_tag         = extension;
    told(BWL_REPLY, BWL_YES, 42);
    expect_told(BWL_PENDING);
    told(BWL_PUSH, BWL_YES, 42);
    expect_told(BWL_PENDING);
    open_tag = leaving;
    told(BWL_REPLY, BWL_NO, BWL_UNKNOWN);
    expect_told(BWL_UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup(test_seat_##name, new_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waits_and_is_told_its_turn),
        TEST(may_have_its_turn_at_once),
        TEST(that_is_refused_may_sit_down_again),
        TEST(hears_that_it_is_longer_in_trouble_and_lost),
        TEST(extends),
        TEST(that_leaves_hears_how_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
