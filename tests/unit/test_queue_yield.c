/*
 * test_queue_yield.c -- the machine of a lock with a queue: it gives the lock on and stands in line
 * again, and leaves nothing in the name of the token that it held by.
 */
#include "queue_fixture.h"

static void hold_it(void)
{
    acquire();
    says_held();
}

static void expect_frees(void)
{
    expect_asks(REDIS_QUEUE_RELEASE);
    assert_true(fx.asks[0].is_former);
}

static void expect_of_this_token(bwl_redis_word word)
{
    expect_asks(word);
    assert_false(fx.asks[0].is_former);
}

static void test_queue_yields_in_one_question(void **state)
{
    (void)state;
    hold_it();
    now += 100;
    yield();
    expect_of_this_token(REDIS_QUEUE_REQUEUE);
    says_queued(1);
    assert_int_equal(fx.outcome.kind, BWL_QUEUED);
    pushes(FENCE + 5, server_us());
    expect_asks_and_tells(REDIS_QUEUE_EXTEND, BWL_HELD);
    assert_int_equal(fx.outcome.until, now + CLAIM_WORTH_MS);
    assert_int_equal(fx.outcome.fence, FENCE + 5);
    says(BWL_YES);
    release();
    expect_of_this_token(REDIS_QUEUE_RELEASE);
}

/* Also while it is confirmed or extended, of which nothing is heard any more. */
static void test_queue_yields_from_wherever_it_is_held(void **state)
{
    (void)state;
    acquire();
    says_claimed();
    yield();
    uint32_t yielded = asked;
    expect_of_this_token(REDIS_QUEUE_REQUEUE);
    asked--;
    says(BWL_NO); /* the confirmation */
    expect_nothing();
    asked = yielded;
    says_held();
    expect_told(BWL_HELD);
    extend();
    yield();
    yielded = asked;
    asked--;
    says(BWL_NO); /* the extension */
    expect_nothing();
    asked = yielded;
    says_held();
    expect_told(BWL_HELD);
}

static void test_queue_yields_to_nobody_and_holds_on(void **state)
{
    (void)state;
    hold_it();
    now += 500;
    yield();
    now += 3;
    says_how(BWL_YES, FENCE + 1, (bwl_place){ .how = BWL_HOW_HELD });
    expect_told(BWL_HELD);
    assert_int_equal(fx.outcome.until, NOW + 500 + WORTH_MS);
    assert_int_equal(fx.outcome.fence, FENCE + 1);
}

static void test_queue_yields_to_the_dead_alone_and_is_given_it(void **state)
{
    (void)state;
    hold_it();
    yield();
    says_claimed();
    expect_asks_and_tells(REDIS_QUEUE_EXTEND, BWL_HELD);
    assert_int_equal(fx.outcome.until, now + CLAIM_WORTH_MS);
}

static void test_queue_yields_what_is_not_its_own_and_has_lost_it(void **state)
{
    (void)state;
    hold_it();
    yield();
    says_gone();
    expect_told(BWL_LOST);
    acquire(); /* nothing is owed */
    expect_of_this_token(REDIS_QUEUE_JOIN);
}

/* Whoever yields has no place of an earlier time. */
static void test_queue_yields_and_joins_anew_by_a_new_ticket(void **state)
{
    (void)state;
    acquire();
    says_queued(0);
    pushes(FENCE, server_us());
    says(BWL_YES);
    yield();
    cut();
    expect_told(BWL_UNKNOWN);
    acquire_again();
    expect_frees();
    says(BWL_YES);
    expect_of_this_token(REDIS_QUEUE_BEAT);
    says_gone();
    expect_told(BWL_ANEW);
    acquire();
    expect_of_this_token(REDIS_QUEUE_JOIN);
    assert_int_equal(fx.asks[0].stamp, 0);
}

/* Not answered, in whatever way: the lock may be in the name of the former token. */
static void test_queue_yields_without_an_answer_and_frees_first(void **state)
{
    static const bwl_answer not_carried_out[] = { BWL_LATER, BWL_REFUSED, BWL_UNSENT, 0 };

    (void)state;
    for (size_t i = 0; i < sizeof not_carried_out / sizeof not_carried_out[0]; i++) {
        (void)new_machine(NULL);
        hold_it();
        yield();
        if (not_carried_out[i] != 0)
            says(not_carried_out[i]);
        else
            cut();
        expect_told(BWL_UNKNOWN);
        acquire_again();
        expect_frees();
        says(i % 2 == 0 ? BWL_YES : BWL_NO); /* that it is not its own is as good */
        expect_of_this_token(REDIS_QUEUE_BEAT);
        says_queued(2);
        assert_int_equal(fx.outcome.kind, BWL_QUEUED);
        release();
        expect_of_this_token(REDIS_QUEUE_CANCEL);
    }
}

static void test_queue_yields_and_frees_until_that_is_answered(void **state)
{
    (void)state;
    hold_it();
    yield();
    cut();
    acquire_again();
    expect_frees();
    cut();
    expect_told(BWL_UNKNOWN);
    acquire_again();
    expect_frees();
    says(BWL_LATER);
    expect_told(BWL_NOT_NOW);
    release();
    expect_frees();
    cut();
    expect_told(BWL_UNKNOWN);
    release();
    expect_frees();
    says(BWL_NO);
    expect_of_this_token(REDIS_QUEUE_CANCEL);
    says(BWL_NO);
    expect_told(BWL_LOST);
}

/* While REQUEUE is out: what it will have done is undone, whatever it was. */
static void test_queue_yields_and_is_cancelled(void **state)
{
    (void)state;
    hold_it();
    yield();
    uint32_t yielded = asked;
    release();
    expect_frees();
    uint32_t frees = asked;
    asked          = yielded;
    says_queued(0);
    expect_nothing();
    asked = frees;
    says(BWL_NO);
    expect_of_this_token(REDIS_QUEUE_CANCEL);
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, new_machine)
        T(test_queue_yields_in_one_question),
        T(test_queue_yields_from_wherever_it_is_held),
        T(test_queue_yields_to_nobody_and_holds_on),
        T(test_queue_yields_to_the_dead_alone_and_is_given_it),
        T(test_queue_yields_what_is_not_its_own_and_has_lost_it),
        T(test_queue_yields_and_joins_anew_by_a_new_ticket),
        T(test_queue_yields_without_an_answer_and_frees_first),
        T(test_queue_yields_and_frees_until_that_is_answered),
        T(test_queue_yields_and_is_cancelled),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
