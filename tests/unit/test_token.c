/*
 * test_token.c -- one key on one Redis, question by question.
 *
 * The machine is handed commands and events by hand; each test looks at what it asks and what it
 * tells.  A lease of 30000 ms has a drift allowance of 302 ms: a yes is worth 29698 ms from before
 * the first question.
 */
#include "protocol/protocol.h"
#include "protocol/store/redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LEASE_MS = 30000, WORTH_MS = 29698 };

static _Alignas(8) unsigned char machine[64];
static bwl_claim   claim;
static bwl_effects fx;
static uint32_t    asked; /* the tag of the latest question */

static int new_machine(void **state)
{
    (void)state;
    memset(machine, 0xee, sizeof machine);
    asked = 0;
    claim = (bwl_claim){ .token = "AAECAwQFBgcICQoLDA0ODw", .attempt = 1, .lease_ms = LEASE_MS };
    assert_true(bwl_token.state_size <= sizeof machine);
    bwl_token.init(machine, 1);
    return 0;
}

/* A command puts exactly one question, tells nothing yet and wishes for no alarm. */
static void expect_question(bwl_command cmd, bwl_redis_word word)
{
    uint32_t before = asked;

    fx = (bwl_effects){ 0 };
    bwl_token.command(machine, &claim, &cmd, &fx);
    assert_int_equal(fx.asks_count, 1);
    assert_int_equal(fx.asks[0].word, word);
    assert_int_equal(fx.asks[0].node, 0);
    assert_int_equal(fx.outcome.kind, BWL_PENDING);
    assert_int_equal(fx.wake_at, 0);
    asked = fx.asks[0].tag;
    assert_int_not_equal(asked, before);
    assert_int_not_equal(asked, 0);
}

static void acquire(bwl_ms now)
{
    expect_question((bwl_command){ .verb = BWL_ACQUIRE, .now = now }, REDIS_SET_IF_ABSENT);
}

static void acquire_again(bwl_ms now)
{
    expect_question((bwl_command){ .verb = BWL_ACQUIRE, .again = true, .now = now },
                    REDIS_SET_IF_ABSENT_OR_MINE);
}

static void extend(bwl_ms now)
{
    expect_question((bwl_command){ .verb = BWL_EXTEND, .now = now }, REDIS_EXTEND_IF_MINE);
}

static void release(bwl_ms now)
{
    expect_question((bwl_command){ .verb = BWL_RELEASE, .now = now }, REDIS_DELETE_IF_MINE);
}

/* Nothing that happens makes this machine ask by itself. */
static bwl_outcome happens(bwl_event ev)
{
    fx = (bwl_effects){ 0 };
    bwl_token.event(machine, &claim, &ev, &fx);
    assert_int_equal(fx.asks_count, 0);
    assert_int_equal(fx.wake_at, 0);
    return fx.outcome;
}

static bwl_outcome reply(uint32_t tag, bwl_answer answer)
{
    return happens((bwl_event){ .kind = BWL_REPLY, .tag = tag, .answer = answer, .now = 77777 });
}

static bwl_outcome_kind down(uint32_t tag)
{
    return happens((bwl_event){ .kind = BWL_DOWN, .tag = tag, .now = 77777 }).kind;
}

static void expect_held(bwl_outcome out, bwl_ms until)
{
    assert_int_equal(out.kind, BWL_HELD);
    assert_int_equal(out.until, until);
    assert_int_equal(out.fence, 0);
}

/* ---- acquire --------------------------------------------------------------------------------- */

static void test_token_lease_is_counted_from_before_the_question(void **state)
{
    (void)state;
    acquire(1000);
    expect_held(reply(asked, BWL_YES), 1000 + WORTH_MS); /* and not from the reply at 77777 */
}

static void test_token_lease_is_counted_from_the_first_question(void **state)
{
    (void)state;
    acquire(1000);
    assert_int_equal(down(asked), BWL_UNKNOWN);
    acquire_again(4000);
    assert_int_equal(down(asked), BWL_UNKNOWN);
    acquire_again(9000);
    expect_held(reply(asked, BWL_YES), 1000 + WORTH_MS);
}

static void test_token_a_new_attempt_counts_anew(void **state)
{
    (void)state;
    acquire(1000);
    assert_int_equal(reply(asked, BWL_NO).kind, BWL_BUSY);
    acquire(6000);
    expect_held(reply(asked, BWL_YES), 6000 + WORTH_MS);
}

static void test_token_no_is_busy(void **state)
{
    (void)state;
    acquire(1000);
    assert_int_equal(reply(asked, BWL_NO).kind, BWL_BUSY);
    acquire(2000);
    assert_int_equal(down(asked), BWL_UNKNOWN);
    acquire_again(3000);
    assert_int_equal(reply(asked, BWL_NO).kind, BWL_BUSY);
}

/* Whatever the verb: these three say that nothing was carried out. */
static void test_token_what_was_not_carried_out_is_told_as_such(void **state)
{
    static void (*const commands[])(bwl_ms) = { acquire, extend, release };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        commands[i](1000);
        assert_int_equal(reply(asked, BWL_LATER).kind, BWL_NOT_NOW);
        commands[i](2000);
        assert_int_equal(reply(asked, BWL_REFUSED).kind, BWL_STORE_REFUSED);
        commands[i](3000);
        assert_int_equal(reply(asked, BWL_UNSENT).kind, BWL_UNREACHABLE);
    }
}

static void test_token_a_cut_link_is_unknown_whatever_was_asked(void **state)
{
    static void (*const commands[])(bwl_ms) = { acquire, extend, release };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        commands[i](1000);
        assert_int_equal(down(asked), BWL_UNKNOWN);
        assert_int_equal(down(asked), BWL_PENDING); /* told once */
    }
}

/* ---- extend, release ------------------------------------------------------------------------- */

static void test_token_extension_is_counted_from_its_own_question(void **state)
{
    (void)state;
    acquire(1000);
    (void)reply(asked, BWL_YES);
    extend(11000);
    expect_held(reply(asked, BWL_YES), 11000 + WORTH_MS);
}

static void test_token_extension_takes_the_lease_of_the_claim_as_it_is_now(void **state)
{
    (void)state;
    acquire(1000);
    (void)reply(asked, BWL_YES);
    claim.lease_ms = 60000;
    extend(11000);
    claim.lease_ms = 100; /* after the question: says nothing of that yes */
    expect_held(reply(asked, BWL_YES), 11000 + 60000 - 602);
}

static void test_token_no_to_an_extension_is_lost(void **state)
{
    (void)state;
    acquire(1000);
    (void)reply(asked, BWL_YES);
    extend(11000);
    assert_int_equal(reply(asked, BWL_NO).kind, BWL_LOST);
}

static void test_token_release_yes_is_released_no_is_lost(void **state)
{
    (void)state;
    release(1000);
    assert_int_equal(reply(asked, BWL_YES).kind, BWL_RELEASED);
    release(2000);
    assert_int_equal(reply(asked, BWL_NO).kind, BWL_LOST);
}

static void test_token_release_interrupts_and_the_older_answer_is_not_told(void **state)
{
    static void (*const commands[])(bwl_ms) = { acquire, extend, release };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        commands[i](1000);
        uint32_t older = asked;
        release(2000);
        assert_int_equal(reply(older, BWL_YES).kind, BWL_PENDING);
        assert_int_equal(down(older), BWL_PENDING);
        assert_int_equal(reply(asked, BWL_YES).kind, BWL_RELEASED);
    }
}

/* ---- what nobody asked for ------------------------------------------------------------------- */

static void test_token_answers_to_other_questions_are_ignored(void **state)
{
    (void)state;
    assert_int_equal(reply(0, BWL_YES).kind, BWL_PENDING); /* before any question */
    assert_int_equal(reply(1, BWL_YES).kind, BWL_PENDING);
    acquire(1000);
    assert_int_equal(reply(0, BWL_YES).kind, BWL_PENDING);
    assert_int_equal(reply(asked - 1, BWL_YES).kind, BWL_PENDING);
    assert_int_equal(reply(asked + 1, BWL_NO).kind, BWL_PENDING);
    assert_int_equal(down(asked + 1), BWL_PENDING);
    expect_held(reply(asked, BWL_YES), 1000 + WORTH_MS);
    assert_int_equal(reply(asked, BWL_NO).kind, BWL_PENDING); /* an answer comes once */
    assert_int_equal(reply(0, BWL_NO).kind, BWL_PENDING);
}

static void test_token_a_late_answer_to_the_question_before_is_ignored(void **state)
{
    uint32_t first;

    (void)state;
    acquire(1000);
    first = asked;
    assert_int_equal(down(first), BWL_UNKNOWN);
    acquire_again(2000);
    assert_int_equal(reply(first, BWL_YES).kind, BWL_PENDING);
    assert_int_equal(reply(asked, BWL_NO).kind, BWL_BUSY);
}

static void test_token_alarms_and_pushes_mean_nothing(void **state)
{
    (void)state;
    acquire(1000);
    bwl_event alarm = { .kind = BWL_ALARM, .tag = asked, .answer = BWL_YES, .now = 2000 };
    bwl_event push  = { .kind = BWL_PUSH, .tag = asked, .answer = BWL_YES, .now = 2000 };
    assert_int_equal(happens(alarm).kind, BWL_PENDING);
    assert_int_equal(happens(push).kind, BWL_PENDING);
    expect_held(reply(asked, BWL_YES), 1000 + WORTH_MS);
    assert_int_equal(happens(alarm).kind, BWL_PENDING);
    assert_int_equal(happens(push).kind, BWL_PENDING);
}

static void test_token_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(bwl_token.name, "token");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_token_lease_is_counted_from_before_the_question, new_machine),
        cmocka_unit_test_setup(test_token_lease_is_counted_from_the_first_question, new_machine),
        cmocka_unit_test_setup(test_token_a_new_attempt_counts_anew, new_machine),
        cmocka_unit_test_setup(test_token_no_is_busy, new_machine),
        cmocka_unit_test_setup(test_token_what_was_not_carried_out_is_told_as_such, new_machine),
        cmocka_unit_test_setup(test_token_a_cut_link_is_unknown_whatever_was_asked, new_machine),
        cmocka_unit_test_setup(test_token_extension_is_counted_from_its_own_question, new_machine),
        cmocka_unit_test_setup(test_token_extension_takes_the_lease_of_the_claim_as_it_is_now,
                               new_machine),
        cmocka_unit_test_setup(test_token_no_to_an_extension_is_lost, new_machine),
        cmocka_unit_test_setup(test_token_release_yes_is_released_no_is_lost, new_machine),
        cmocka_unit_test_setup(test_token_release_interrupts_and_the_older_answer_is_not_told,
                               new_machine),
        cmocka_unit_test_setup(test_token_answers_to_other_questions_are_ignored, new_machine),
        cmocka_unit_test_setup(test_token_a_late_answer_to_the_question_before_is_ignored,
                               new_machine),
        cmocka_unit_test_setup(test_token_alarms_and_pushes_mean_nothing, new_machine),
        cmocka_unit_test(test_token_has_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
