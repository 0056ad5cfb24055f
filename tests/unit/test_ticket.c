/*
 * test_ticket.c -- a lock of this machine, step by step: joining, the latch, holding, letting go,
 * and whatever else may happen.  Standing in the queue is in test_ticket_queue.c.
 */
#include "ticket_fixture.h"

/* ---- joining --------------------------------------------------------------------------------- */

static void test_ticket_free_is_ours_until_released(void **state)
{
    (void)state;
    command(BWL_ACQUIRE, WAITS);
    expect(LOCAL_JOIN, BWL_PENDING, BWL_NEVER);
    reply(BWL_YES, 7, 2000);
    expect_ours(7);
    assert_string_equal(bwl_ticket.name, "ticket");
}

static void test_ticket_once_does_not_stand_in_the_queue(void **state)
{
    (void)state;
    command(BWL_ACQUIRE, ONCE);
    expect(LOCAL_JOIN_OR_LEAVE, BWL_PENDING, BWL_NEVER);
    reply(BWL_NO, LOCAL_WILL_PUSH, 2000);
    expect(NOTHING, BWL_BUSY, 0);
    command(BWL_ACQUIRE, ONCE); /* and may ask again */
    expect(LOCAL_JOIN_OR_LEAVE, BWL_PENDING, BWL_NEVER);
    reply(BWL_YES, 8, 2000);
    expect_ours(8);
}

static void test_ticket_a_refusal_or_a_question_unsent_is_a_refusal(void **state)
{
    static const bwl_answer answers[] = { BWL_REFUSED, BWL_UNSENT };

    for (unsigned i = 0; i < 2; i++) {
        (void)new_machine(state);
        command(BWL_ACQUIRE, WAITS);
        reply(answers[i], 0, 2000);
        expect(NOTHING, BWL_STORE_REFUSED, 0);
        (void)new_machine(state);
        be_queued(LOCAL_WILL_PUSH);
        alarm_rings(2001);
        reply(answers[i], 0, 2002);
        expect(NOTHING, BWL_STORE_REFUSED, 0);
    }
}

/* ---- the latch ------------------------------------------------------------------------------- */

static void test_ticket_a_taken_latch_is_asked_for_again_and_not_for_ever(void **state)
{
    static const bwl_ms pauses[] = { 1, 2, 4, 8, 16, 16, 16, 16, 16, 16, 16 };
    bwl_ms              now      = 2000;

    (void)state;
    command(BWL_ACQUIRE, ONCE);
    for (unsigned i = 0; i < sizeof pauses / sizeof pauses[0]; i++) {
        reply(BWL_LATER, 0, now);
        expect(NOTHING, BWL_PENDING, now + pauses[i]);
        now += pauses[i];
        alarm_rings(now);
        expect(LOCAL_JOIN_OR_LEAVE, BWL_PENDING, BWL_NEVER);
    }
    reply(BWL_LATER, 0, now);
    expect(NOTHING, BWL_NOT_NOW, 0);
}

static void test_ticket_who_waits_is_told_so_once_while_the_latch_is_taken(void **state)
{
    (void)state;
    command(BWL_ACQUIRE, WAITS);
    reply(BWL_LATER, 0, 2000);
    expect(NOTHING, BWL_QUEUED, 2001);
    for (unsigned i = 0; i < 40; i++) { /* longer than who does not wait */
        alarm_rings(3000);
        expect(LOCAL_JOIN, BWL_PENDING, BWL_NEVER);
        reply(BWL_LATER, 0, 3000);
        assert_int_equal(fx.outcome.kind, BWL_PENDING);
        assert_in_range(fx.wake_at, 3001, 3016);
    }
    alarm_rings(4000);
    reply(BWL_NO, LOCAL_WILL_PUSH, 4000);
    expect(NOTHING, BWL_PENDING, 4001);
    push(BWL_YES, 9, 4001);
    expect_ours(9);
}

/* ---- holding, letting go --------------------------------------------------------------------- */

static void test_ticket_extension_is_granted_without_asking(void **state)
{
    (void)state;
    be_held(21);
    command(BWL_EXTEND, ONCE);
    expect(NOTHING, BWL_HELD, 0);
    assert_int_equal(fx.outcome.until, BWL_NEVER);
    assert_int_equal(fx.outcome.fence, 21);
}

static void test_ticket_release_leaves(void **state)
{
    (void)state;
    be_held(21);
    command(BWL_RELEASE, ONCE);
    expect(LOCAL_LEAVE, BWL_PENDING, BWL_NEVER);
    reply(BWL_YES, 0, 3000);
    expect(NOTHING, BWL_RELEASED, 0);
}

static void test_ticket_release_leaves_from_the_middle_of_the_queue(void **state)
{
    uint32_t try;

    (void)state;
    be_queued(LOCAL_WILL_PUSH);
    alarm_rings(2001);
    try = asked;
    command(BWL_RELEASE, ONCE);
    expect(LOCAL_LEAVE, BWL_PENDING, BWL_NEVER);
    late_reply(try, BWL_YES);
    expect_nothing();
    push(BWL_YES, 5, 3000);
    expect_nothing();
    push(BWL_NO, 0, 3000);
    expect_nothing();
    reply(BWL_YES, 0, 3000);
    expect(NOTHING, BWL_RELEASED, 0);
}

static void test_ticket_a_leave_that_is_not_granted_is_a_refusal(void **state)
{
    static const bwl_answer answers[] = { BWL_NO, BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    for (unsigned i = 0; i < 4; i++) {
        (void)new_machine(state);
        be_held(21);
        command(BWL_RELEASE, ONCE);
        reply(answers[i], 0, 3000);
        expect(NOTHING, BWL_STORE_REFUSED, 0);
    }
}

/* ---- what nobody asked for ------------------------------------------------------------------- */

static void test_ticket_an_alarm_never_makes_who_wants_nothing_join(void **state)
{
    (void)state;
    alarm_rings(1000); /* before any command */
    expect_nothing();
    command(BWL_ACQUIRE, ONCE);
    alarm_rings(1500); /* a question is out */
    expect_nothing();
    reply(BWL_NO, LOCAL_WILL_PUSH, 2000);
    alarm_rings(2500); /* after BUSY */
    expect_nothing();
    be_held(3);
    alarm_rings(3500);
    expect_nothing();
    command(BWL_RELEASE, ONCE);
    alarm_rings(4000);
    expect_nothing();
    reply(BWL_YES, 0, 4500);
    alarm_rings(5000); /* after RELEASED */
    expect_nothing();
}

static void test_ticket_pushes_outside_the_queue_mean_nothing(void **state)
{
    (void)state;
    push(BWL_YES, 5, 1000);
    expect_nothing();
    command(BWL_ACQUIRE, WAITS);
    push(BWL_YES, 5, 1500); /* of a place that we had before: this one is not known yet */
    expect_nothing();
    reply(BWL_YES, 6, 2000);
    push(BWL_YES, 7, 2500);
    expect_nothing();
    push(BWL_NO, 0, 2500);
    expect_nothing();
}

static void test_ticket_answers_to_other_questions_are_ignored(void **state)
{
    (void)state;
    late_reply(0, BWL_YES);
    expect_nothing();
    command(BWL_ACQUIRE, WAITS);
    late_reply(0, BWL_YES);
    expect_nothing();
    late_reply(asked - 1, BWL_YES);
    expect_nothing();
    late_reply(asked + 1, BWL_YES);
    expect_nothing();
    reply(BWL_NO, LOCAL_WILL_PUSH, 2000);
    late_reply(asked, BWL_YES); /* an answer comes once */
    expect_nothing();
    late_reply(0, BWL_YES);
    expect_nothing();
}

static void test_ticket_a_store_of_this_machine_does_not_go_away(void **state)
{
    (void)state;
    command(BWL_ACQUIRE, WAITS);
    happens((bwl_event){ .kind = BWL_DOWN, .tag = asked, .now = 1500 });
    expect_nothing();
    reply(BWL_YES, 4, 2000);
    expect_ours(4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ticket_free_is_ours_until_released, new_machine),
        cmocka_unit_test_setup(test_ticket_once_does_not_stand_in_the_queue, new_machine),
        cmocka_unit_test_setup(test_ticket_a_refusal_or_a_question_unsent_is_a_refusal,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_a_taken_latch_is_asked_for_again_and_not_for_ever,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_who_waits_is_told_so_once_while_the_latch_is_taken,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_extension_is_granted_without_asking, new_machine),
        cmocka_unit_test_setup(test_ticket_release_leaves, new_machine),
        cmocka_unit_test_setup(test_ticket_release_leaves_from_the_middle_of_the_queue,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_a_leave_that_is_not_granted_is_a_refusal, new_machine),
        cmocka_unit_test_setup(test_ticket_an_alarm_never_makes_who_wants_nothing_join,
                               new_machine),
        cmocka_unit_test_setup(test_ticket_pushes_outside_the_queue_mean_nothing, new_machine),
        cmocka_unit_test_setup(test_ticket_answers_to_other_questions_are_ignored, new_machine),
        cmocka_unit_test_setup(test_ticket_a_store_of_this_machine_does_not_go_away, new_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
