/*
 * test_queue_release.c -- leaving a lock with a queue, or the line before it.
 */
#include "queue_fixture.h"

static void (*const in_line[])(void) = { be_asked, be_settling, be_queued, be_beating, be_claimed };
static void (*const holding[])(void) = { be_held, be_confirming, be_extending };
enum { IN_LINE = 5, HOLDING = 3 };

static void leave(unsigned i)
{
    (void)new_machine(NULL);
    if (i < IN_LINE)
        in_line[i]();
    else
        holding[i - IN_LINE]();
    release();
}

/* CANCEL does what RELEASE does, and looks for our place in line as well. */
static void test_queue_cancel_while_we_may_stand_in_line_release_when_it_was_ours(void **state)
{
    (void)state;
    for (unsigned i = 0; i < IN_LINE + HOLDING; i++) {
        leave(i);
        expect_asks(i < IN_LINE ? REDIS_QUEUE_CANCEL : REDIS_QUEUE_RELEASE);
        says(BWL_YES);
        expect_told(BWL_RELEASED);
        leave(i);
        says(BWL_NO);
        expect_told(BWL_LOST);
    }
}

/* Nothing makes it ours again, and nobody asks for it. */
static void test_queue_after_a_release_nothing_else_is_heard(void **state)
{
    (void)state;
    for (unsigned i = 0; i < IN_LINE + HOLDING; i++) {
        leave(i);
        uint32_t latest = asked;
        asked--;
        says_held();
        expect_nothing();
        says_claimed();
        expect_nothing();
        says(BWL_YES); /* to a confirmation, an extension */
        expect_nothing();
        cut();
        if (asked != 0)
            expect_nothing();
        pushes(FENCE, server_us());
        expect_nothing();
        alarms();
        expect_nothing();
        connection_ends();
        expect_nothing();
        asked = latest;
        says(BWL_YES);
        expect_told(BWL_RELEASED);
        pushes(FENCE, server_us());
        expect_nothing();
    }
}

static void test_queue_release_that_fails_is_told_and_asked_again_in_the_same_word(void **state)
{
    (void)state;
    for (unsigned i = 0; i < IN_LINE + HOLDING; i++) {
        bwl_redis_word word = i < IN_LINE ? REDIS_QUEUE_CANCEL : REDIS_QUEUE_RELEASE;
        leave(i);
        says(BWL_LATER);
        expect_told(BWL_NOT_NOW);
        release();
        expect_asks(word);
        says(BWL_REFUSED);
        expect_told(BWL_STORE_REFUSED);
        release();
        expect_asks(word);
        says(BWL_UNSENT);
        expect_told(BWL_UNREACHABLE);
        release();
        expect_asks(word);
        cut();
        expect_told(BWL_UNKNOWN);
        release();
        expect_asks(word);
    }
}

/* The hold makes its next attempt although what came too late could not be given back. */
static void test_queue_attempt_after_a_release_that_failed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < IN_LINE + HOLDING; i++) {
        leave(i);
        says(BWL_REFUSED);
        expect_told(BWL_STORE_REFUSED);
        acquire();
        expect_asks(REDIS_QUEUE_JOIN);
    }
}

static void test_queue_after_a_release_a_no_to_the_confirmation_is_not_heard(void **state)
{
    (void)new_machine(state);
    be_confirming();
    uint32_t confirmation = asked;
    extend();
    release();
    expect_asks(REDIS_QUEUE_RELEASE);
    uint32_t latest = asked;
    asked           = confirmation;
    says(BWL_NO);
    expect_nothing();
    asked = latest;
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

/* ---- too many who are dead ------------------------------------------------------------------- */

static void says_more(void)
{
    says_how(BWL_YES, 0, (bwl_place){ .how = BWL_HOW_MORE });
}

static void test_queue_more_is_poked_until_there_is_no_more(void **state)
{
    (void)state;
    for (unsigned i = 0; i < IN_LINE + HOLDING; i++) {
        leave(i);
        for (unsigned pokes = 0; pokes < 4; pokes++) {
            says_more();
            expect_asks(REDIS_QUEUE_POKE);
        }
        says(BWL_YES);
        expect_told(BWL_RELEASED);
    }
}

/* What was ours is given back, whatever becomes of those who are next. */
static void test_queue_poke_that_fails_is_a_release_all_the_same(void **state)
{
    static const bwl_answer answers[] = { BWL_NO, BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        leave(IN_LINE);
        says_more();
        if (i < 4)
            says(answers[i]);
        else
            cut();
        expect_told(BWL_RELEASED);
    }
}

/* ---- the next attempt ------------------------------------------------------------------------ */

static void test_queue_attempt_after_a_release_knows_nothing_of_it_but_the_ticket(void **state)
{
    (void)state;
    be_confirming();
    release();
    says(BWL_YES);
    acquire();
    expect_asks(REDIS_QUEUE_JOIN);
    assert_int_equal(fx.asks[0].stamp, TICKET);
    release();
    expect_asks(REDIS_QUEUE_CANCEL); /* this one was not held */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_cancel_while_we_may_stand_in_line_release_when_it_was_ours),
        cmocka_unit_test(test_queue_after_a_release_nothing_else_is_heard),
        cmocka_unit_test(test_queue_release_that_fails_is_told_and_asked_again_in_the_same_word),
        cmocka_unit_test(test_queue_attempt_after_a_release_that_failed),
        cmocka_unit_test(test_queue_after_a_release_a_no_to_the_confirmation_is_not_heard),
        cmocka_unit_test(test_queue_more_is_poked_until_there_is_no_more),
        cmocka_unit_test(test_queue_poke_that_fails_is_a_release_all_the_same),
        cmocka_unit_test_setup(
            test_queue_attempt_after_a_release_knows_nothing_of_it_but_the_ticket, new_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
