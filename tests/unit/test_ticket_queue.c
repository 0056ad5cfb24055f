/*
 * test_ticket_queue.c -- standing in the queue of a store of this machine: looking again, being
 * told that it is worth a look, being given it, losing one's place.
 */
#include "ticket_fixture.h"

/* ---- looking ourselves ----------------------------------------------------------------------- */

/* The nth look since the join, each failing at once: when the one after it is wished for. */
static void test_ticket_looks_again_after_pauses_that_double_without_end(void **state)
{
    bwl_ms now = 2001;

    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    for (unsigned i = 1; i <= 30; i++) {
        bwl_ms pause_ms = (bwl_ms)1 << i;
        alarm_rings(now);
        expect(LOCAL_TRY, BWL_PENDING, BWL_NEVER);
        reply(BWL_NO, LOCAL_WILL_PUSH, now);
        expect(NOTHING, BWL_PENDING, now + pause_ms); /* QUEUED is told once */
        now += pause_ms;
    }
}

static void test_ticket_where_nobody_pushes_the_pause_stops_at_128_ms(void **state)
{
    bwl_ms now = 2001;

    (void)state;
    be_queued(LOCAL_WILL_NOT);
    for (unsigned i = 1; i <= 30; i++) {
        bwl_ms pause_ms = i < 7 ? (bwl_ms)1 << i : 128;
        alarm_rings(now);
        expect(LOCAL_TRY, BWL_PENDING, BWL_NEVER);
        reply(BWL_NO, LOCAL_WILL_NOT, now);
        expect(NOTHING, BWL_PENDING, now + pause_ms);
        now += pause_ms;
    }
}

/* At the head, behind somebody who stands in no queue: when he is done, nobody may tell. */
static void test_ticket_a_no_to_a_try_may_say_that_nobody_pushes_any_more(void **state)
{
    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    for (unsigned i = 0; i < 10; i++) {
        alarm_rings(3000);
        reply(BWL_NO, LOCAL_WILL_PUSH, 3000);
    }
    expect(NOTHING, BWL_PENDING, 4024);
    for (bwl_ms now = 4024; now < 6000; now += 128) {
        alarm_rings(now);
        expect(LOCAL_TRY, BWL_PENDING, BWL_NEVER);
        reply(BWL_NO, LOCAL_WILL_NOT, now);
        expect(NOTHING, BWL_PENDING, now + 128);
    }
    alarm_rings(6000);
    reply(BWL_NO, LOCAL_WILL_PUSH, 6000);
    alarm_rings(7000);
    reply(BWL_NO, LOCAL_WILL_PUSH, 7000);
    expect(NOTHING, BWL_PENDING, 7512);
}

static void test_ticket_a_try_may_win(void **state)
{
    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    alarm_rings(2001);
    expect(LOCAL_TRY, BWL_PENDING, BWL_NEVER);
    reply(BWL_YES, 12, 2002);
    expect_ours(12);
}

static void test_ticket_worth_a_try_is_tried_at_once_and_then_soon_again(void **state)
{
    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    for (unsigned i = 0; i < 5; i++) {
        alarm_rings(3000);
        reply(BWL_NO, LOCAL_WILL_PUSH, 3000);
    }
    expect(NOTHING, BWL_PENDING, 3032);
    push(BWL_NO, 0, 3010);
    expect(LOCAL_TRY, BWL_PENDING, BWL_NEVER);
    reply(BWL_NO, LOCAL_WILL_PUSH, 3011);
    expect(NOTHING, BWL_PENDING, 3012); /* the push came a moment before its time */
}

static void test_ticket_a_push_while_a_try_is_out_makes_the_next_one_soon(void **state)
{
    uint32_t first;

    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    for (unsigned i = 0; i < 5; i++) {
        alarm_rings(3000);
        first = asked;
        if (i == 4)
            push(BWL_NO, 0, 3000);
        if (i == 4)
            expect_nothing(); /* one question at a time */
        assert_int_equal(asked, first);
        reply(BWL_NO, LOCAL_WILL_PUSH, 3000);
    }
    expect(NOTHING, BWL_PENDING, 3001);
}

static void test_ticket_told_that_it_is_ours_needs_no_try(void **state)
{
    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    push(BWL_YES, 13, 2500);
    expect_ours(13);
}

static void test_ticket_told_that_it_is_ours_outruns_the_answer_to_a_try(void **state)
{
    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    alarm_rings(2001);
    push(BWL_YES, 13, 2002);
    expect_ours(13);
    late_reply(asked, BWL_NO);
    expect_nothing();
    late_reply(asked, BWL_YES);
    expect_nothing();
}

static void test_ticket_whose_place_is_gone_joins_anew(void **state)
{
    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    for (unsigned i = 0; i < 5; i++) {
        alarm_rings(3000);
        reply(BWL_NO, LOCAL_WILL_PUSH, 3000);
    }
    alarm_rings(3032);
    reply(BWL_LATER, 0, 3033);
    expect(LOCAL_JOIN, BWL_PENDING, BWL_NEVER);
    reply(BWL_LATER, 0, 3034); /* the new file's latch: the pauses are short again */
    expect(NOTHING, BWL_PENDING, 3035);
    alarm_rings(3035);
    expect(LOCAL_JOIN, BWL_PENDING, BWL_NEVER);
    reply(BWL_NO, LOCAL_WILL_NOT, 3036);
    expect(NOTHING, BWL_PENDING, 3037);
    alarm_rings(3037);
    reply(BWL_YES, 14, 3038);
    expect_ours(14);
}

static void test_ticket_forgets_of_an_earlier_acquire_all_but_its_tags(void **state)
{
    uint32_t first;

    (void)state;
    be_queued(LOCAL_WILL_NOT);
    first = asked;
    command(BWL_RELEASE, ONCE);
    reply(BWL_YES, 0, 3000);
    be_queued(LOCAL_WILL_PUSH); /* told QUEUED anew, the pause short anew */
    late_reply(first, BWL_YES);
    expect_nothing();
}

/* Early alarms are none of our doing, but they may come, and any number of them. */
static void test_ticket_pauses_grow_to_never_and_not_beyond(void **state)
{
    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    for (unsigned i = 0; i < 100; i++) {
        alarm_rings(3000);
        reply(BWL_NO, LOCAL_WILL_PUSH, 3000);
    }
    expect(NOTHING, BWL_PENDING, BWL_NEVER);
    push(BWL_NO, 0, 4000);
    reply(BWL_NO, LOCAL_WILL_PUSH, 4000);
    expect(NOTHING, BWL_PENDING, 4001);
}

/* ---- being given it -------------------------------------------------------------------------- */

static void test_ticket_where_the_store_grants_there_is_no_need_to_look(void **state)
{
    (void)state;
    command(BWL_ACQUIRE, WAITS);
    expect(LOCAL_JOIN, BWL_PENDING, BWL_NEVER);
    reply(BWL_NO, LOCAL_WILL_GRANT, 2000);
    expect(NOTHING, BWL_QUEUED, 0); /* NEVER, as before */
    push(BWL_YES, 15, 99999);
    expect_ours(15);
}

static void test_ticket_where_the_store_grants_a_hint_is_followed_all_the_same(void **state)
{
    (void)state;
    command(BWL_ACQUIRE, WAITS);
    reply(BWL_NO, LOCAL_WILL_GRANT, 2000);
    push(BWL_NO, 0, 2500);
    expect(LOCAL_TRY, BWL_PENDING, BWL_NEVER);
    reply(BWL_NO, LOCAL_WILL_GRANT, 2501);
    expect(NOTHING, BWL_PENDING, 0);
    push(BWL_YES, 15, 99999);
    expect_ours(15);
}

static void test_ticket_how_the_store_tells_is_learned_anew_with_every_place(void **state)
{
    (void)state;
    command(BWL_ACQUIRE, WAITS);
    reply(BWL_NO, LOCAL_WILL_GRANT, 2000);
    push(BWL_NO, 0, 2500);
    reply(BWL_LATER, 0, 2501);
    expect(LOCAL_JOIN, BWL_PENDING, BWL_NEVER);
    reply(BWL_NO, LOCAL_WILL_PUSH, 2502);
    expect(NOTHING, BWL_PENDING, 2503);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ticket_looks_again_after_pauses_that_double_without_end,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_where_nobody_pushes_the_pause_stops_at_128_ms,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_a_no_to_a_try_may_say_that_nobody_pushes_any_more,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_a_try_may_win, new_machine),
        cmocka_unit_test_setup(test_ticket_worth_a_try_is_tried_at_once_and_then_soon_again,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_a_push_while_a_try_is_out_makes_the_next_one_soon,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_told_that_it_is_ours_needs_no_try, new_machine),
        cmocka_unit_test_setup(test_ticket_told_that_it_is_ours_outruns_the_answer_to_a_try,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_whose_place_is_gone_joins_anew, new_machine),
        cmocka_unit_test_setup(test_ticket_forgets_of_an_earlier_acquire_all_but_its_tags,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_pauses_grow_to_never_and_not_beyond, new_machine),
        cmocka_unit_test_setup(test_ticket_where_the_store_grants_there_is_no_need_to_look,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_where_the_store_grants_a_hint_is_followed_all_the_same,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_how_the_store_tells_is_learned_anew_with_every_place,
                               new_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
