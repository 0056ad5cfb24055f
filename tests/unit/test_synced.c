/*
 * test_synced.c -- a lock that counts only when replicas have it, question by question: what is
 * asked of them and when, and what is told when too few have it, or nobody knows.
 *
 * A lease of 30000 ms is worth 29698 ms.  Replicas may take 5000 ms in all, 100 ms at a time.
 */
#include "lock/machine.h"
#include "protocol/protocol.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LEASE_MS = 30000, WORTH_MS = 29698, REPLICAS = 2, ALL_MS = 5000, PART_MS = 100 };
enum { NOW = 5000000, FENCE = 9000, TICKET = 70 };

_Alignas(8) static unsigned char machine[BWL_PROTOCOL_STATE_MAX];
static const bwl_protocol *protocol;
static bwl_claim           claim;
static bwl_effects         fx;
static bwl_ms              now;
static uint32_t            asked;

static int begin(const bwl_protocol *p)
{
    protocol = p;
    assert_true(p->state_size <= sizeof machine);
    memset(machine, 0xa5, sizeof machine);
    claim = (bwl_claim){ .token       = "AAECAwQFBgcICQoLDA0ODw",
                         .attempt     = 1,
                         .lease_ms    = LEASE_MS,
                         .replicas    = REPLICAS,
                         .replicas_ms = ALL_MS };
    now   = NOW;
    asked = 0;
    p->init(machine, 1);
    return 0;
}

static int token(void **state)
{
    (void)state;
    return begin(&bwl_synced_token);
}

static int queue(void **state)
{
    (void)state;
    return begin(&bwl_synced_queue);
}

/* ---- what happens to it ---------------------------------------------------------------------- */

static void command(bwl_command cmd)
{
    cmd.now = now;
    fx      = (bwl_effects){ 0 };
    protocol->command(machine, &claim, &cmd, &fx);
    if (fx.asks_count > 0)
        asked = fx.asks[0].tag;
}

static void happens(bwl_event ev)
{
    ev.now = now;
    fx     = (bwl_effects){ 0 };
    protocol->event(machine, &claim, &ev, &fx);
    if (fx.asks_count > 0)
        asked = fx.asks[0].tag;
}

static void says(bwl_answer answer)
{
    happens((bwl_event){ .kind = BWL_REPLY, .tag = asked, .answer = answer });
}

static void says_how(bwl_answer answer, bwl_place place)
{
    happens((bwl_event){ .kind   = BWL_REPLY,
                         .tag    = asked,
                         .answer = answer,
                         .number = answer == BWL_YES ? FENCE : 0,
                         .place  = &place });
}

static void cut(void)
{
    happens((bwl_event){ .kind = BWL_DOWN, .tag = asked });
}

static void acquire(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .may_wait = protocol->listens });
}

static void acquire_again(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .again = true, .may_wait = protocol->listens });
}

static void extend(void)
{
    command((bwl_command){ .verb = BWL_EXTEND });
}

static void release(void)
{
    command((bwl_command){ .verb = BWL_RELEASE });
}

/* ---- what it does ---------------------------------------------------------------------------- */

static void expect_asks(bwl_redis_word word)
{
    assert_int_equal(fx.outcome.kind, BWL_PENDING);
    assert_int_equal(fx.asks_count, 1);
    assert_int_equal(fx.asks[0].word, word);
    assert_int_equal(fx.asks[0].node, 0);
}

static void expect_asks_replicas(void)
{
    expect_asks(REDIS_REPLICATED);
    assert_int_equal(fx.asks[0].stamp, REPLICAS);
    assert_int_equal(fx.asks[0].claim_ms, PART_MS);
}

static void expect_told(bwl_outcome_kind kind)
{
    assert_int_equal(fx.asks_count, 0);
    assert_int_equal(fx.outcome.kind, kind);
}

static void expect_held(bwl_ms until)
{
    expect_told(BWL_HELD);
    assert_int_equal(fx.outcome.until, until);
}

/* It is to be given back. */
static void expect_of_no_use(void)
{
    expect_held(0);
}

static void expect_nothing(void)
{
    expect_told(BWL_PENDING);
    assert_int_equal(fx.wake_at, 0);
}

/* It is ours, and the replicas are asked. */
static void win(void)
{
    acquire();
    if (protocol->listens)
        says_how(BWL_YES, (bwl_place){ .how = BWL_HOW_HELD });
    else
        says(BWL_YES);
    expect_asks_replicas();
}

static void hold(void)
{
    win();
    now += 1;
    says(BWL_YES);
    expect_held(NOW + WORTH_MS);
}

/* ---- an acquire ------------------------------------------------------------------------------ */

static void test_synced_counts_when_the_replicas_have_it(void **state)
{
    (void)state;
    acquire();
    expect_asks(REDIS_SET_IF_ABSENT);
    now += 3;
    says(BWL_YES);
    expect_asks_replicas();
    now += 40;
    says(BWL_YES);
    expect_held(NOW + WORTH_MS); /* from before the first question, whatever they took */
    claim.replicas_ms = 50;
    acquire();
    says(BWL_YES);
    assert_int_equal(fx.asks[0].claim_ms, 10); /* a part is no shorter than that */
}

static void test_synced_fence_comes_with_it(void **state)
{
    (void)state;
    win();
    says(BWL_YES);
    expect_held(NOW + WORTH_MS);
    assert_int_equal(fx.outcome.fence, FENCE);
}

static void test_synced_what_is_not_ours_is_no_matter_of_replicas(void **state)
{
    (void)state;
    acquire();
    says(BWL_NO);
    expect_told(BWL_BUSY);
    acquire();
    says(BWL_LATER);
    expect_told(BWL_NOT_NOW);
    acquire();
    cut();
    expect_told(BWL_UNKNOWN);
}

static void test_synced_too_few_are_asked_until_they_took_too_long(void **state)
{
    (void)state;
    win();
    for (unsigned i = 1; i < ALL_MS / PART_MS; i++) {
        now += PART_MS;
        says(BWL_NO);
        expect_asks_replicas();
    }
    now += PART_MS;
    says(BWL_NO);
    expect_of_no_use();
}

static void test_synced_late_replicas_are_in_time(void **state)
{
    (void)state;
    win();
    now += PART_MS;
    says(BWL_NO);
    expect_asks_replicas();
    happens((bwl_event){ .kind = BWL_REPLY, .tag = asked - 1, .answer = BWL_YES });
    now += PART_MS;
    says(BWL_YES);
    expect_held(NOW + WORTH_MS);
}

static void test_synced_who_has_not_waited_is_not_asked_again(void **state)
{
    (void)state;
    win();
    now += PART_MS / 2 - 1;
    says(BWL_NO);
    expect_of_no_use();
}

static void test_synced_nobody_is_asked_when_the_lease_is_over(void **state)
{
    (void)state;
    claim.replicas_ms = 10 * LEASE_MS;
    acquire();
    says(BWL_YES);
    now += WORTH_MS;
    says(BWL_NO);
    expect_of_no_use();
}

/* Nothing that was written over the next connection says anything of this one. */
static void test_synced_connection_that_ends_takes_the_answer_along(void **state)
{
    static const bwl_answer none[] = { BWL_UNSENT, BWL_LATER, BWL_REFUSED };

    (void)state;
    win();
    cut();
    expect_of_no_use();
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        begin(protocol);
        win();
        now += PART_MS;
        says(none[i]);
        expect_of_no_use();
        assert_int_equal(fx.outcome.why, none[i] == BWL_REFUSED ? BWL_STORE_REFUSED : BWL_NOT_NOW);
    }
}

static void test_synced_token_that_was_settled_counts_from_its_first_question(void **state)
{
    (void)state;
    acquire();
    now += 10;
    cut();
    expect_told(BWL_UNKNOWN);
    acquire_again();
    expect_asks(REDIS_SET_IF_ABSENT_OR_MINE);
    says(BWL_YES);
    expect_asks_replicas();
    says(BWL_YES);
    expect_held(NOW + WORTH_MS);
}

static void test_synced_release_does_not_wait_for_replicas(void **state)
{
    (void)state;
    win();
    uint32_t old = asked;
    release();
    expect_asks(REDIS_DELETE_IF_MINE);
    happens((bwl_event){ .kind = BWL_REPLY, .tag = old, .answer = BWL_YES });
    expect_nothing();
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

/* ---- in line --------------------------------------------------------------------------------- */

static int64_t server_us(void)
{
    return INT64_C(1700000000) * 1000000 + (now - NOW) * 1000;
}

static void stand_in_line(void)
{
    acquire();
    expect_asks(REDIS_QUEUE_JOIN);
    says_how(BWL_NO, (bwl_place){ .how       = BWL_HOW_QUEUED,
                                  .is_ours   = true,
                                  .ticket    = TICKET,
                                  .server_us = server_us() });
    expect_told(BWL_QUEUED);
}

static void is_given_it(void)
{
    bwl_place place = { .server_us = server_us() };

    happens((bwl_event){ .kind = BWL_PUSH, .answer = BWL_YES, .number = FENCE, .place = &place });
}

/* The grant was written by who released it. */
static void test_synced_grant_counts_behind_a_yes_of_our_own(void **state)
{
    (void)state;
    stand_in_line();
    now += 500;
    is_given_it();
    expect_asks(REDIS_QUEUE_EXTEND);
    now += 2;
    says(BWL_YES);
    expect_asks_replicas();
    says(BWL_YES);
    expect_held(NOW + 500 + WORTH_MS);
    assert_int_equal(fx.outcome.fence, FENCE);
}

static void test_synced_grant_that_came_too_late_asks_no_replica(void **state)
{
    (void)state;
    stand_in_line();
    is_given_it();
    now += 3000;
    says(BWL_NO);
    expect_told(BWL_ANEW);
}

static void test_synced_grant_of_no_use_is_given_on(void **state)
{
    (void)state;
    stand_in_line();
    is_given_it();
    says(BWL_YES);
    expect_asks_replicas();
    cut();
    expect_of_no_use();
    release();
    expect_asks(REDIS_QUEUE_RELEASE);
    says(BWL_YES);
    expect_told(BWL_RELEASED);
}

static void test_synced_queue_that_was_settled_is_confirmed(void **state)
{
    (void)state;
    acquire();
    cut();
    expect_told(BWL_UNKNOWN);
    acquire_again();
    expect_asks(REDIS_QUEUE_BEAT);
    says_how(BWL_YES, (bwl_place){ .how = BWL_HOW_MINE, .ends = true, .left_ms = 9000 });
    assert_int_equal(fx.outcome.kind, BWL_QUEUED); /* it takes time */
    assert_int_equal(fx.asks[0].word, REDIS_QUEUE_EXTEND);
    says(BWL_YES);
    expect_asks_replicas();
    says(BWL_YES);
    expect_held(NOW + WORTH_MS);
}

static void test_synced_yield_counts_like_an_acquire(void **state)
{
    (void)state;
    hold();
    command((bwl_command){ .verb = BWL_ACQUIRE, .may_wait = true, .yields = true });
    expect_asks(REDIS_QUEUE_REQUEUE);
    says_how(BWL_YES, (bwl_place){ .how = BWL_HOW_HELD });
    expect_asks_replicas();
    says(BWL_NO);
    expect_of_no_use();
}

/* ---- an extension ---------------------------------------------------------------------------- */

static void test_synced_extension_counts_when_the_replicas_have_it(void **state)
{
    (void)state;
    hold();
    now = NOW + 10000;
    extend();
    expect_asks(protocol->listens ? REDIS_QUEUE_EXTEND : REDIS_EXTEND_IF_MINE);
    says(BWL_YES);
    expect_asks_replicas();
    now += PART_MS; /* of a time of its own */
    says(BWL_NO);
    expect_asks_replicas();
    now += 70;
    says(BWL_YES);
    expect_held(NOW + 10000 + WORTH_MS);
}

/* What was told before stays as it is, and that is for those above. */
static void test_synced_extension_that_too_few_have_has_failed(void **state)
{
    (void)state;
    hold();
    extend();
    says(BWL_YES);
    expect_asks_replicas();
    says(BWL_NO);
    expect_told(BWL_NOT_NOW);
    extend();
    says(BWL_YES);
    cut();
    expect_told(BWL_UNKNOWN);
    extend();
    says(BWL_YES);
    says(BWL_UNSENT);
    expect_told(BWL_UNREACHABLE);
    extend();
    says(BWL_YES);
    says(BWL_REFUSED);
    expect_told(BWL_STORE_REFUSED);
    extend();
    says(BWL_NO);
    expect_told(BWL_LOST);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void test_synced_is_what_it_is_made_of(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const bwl_protocol *inner = i == 0 ? &bwl_token : &bwl_queue;
        const bwl_protocol *p     = bwl_protocol_synced(inner);
        assert_string_equal(p->name, inner->name);
        assert_int_equal(p->uses_token, inner->uses_token);
        assert_int_equal(p->uses_wall, inner->uses_wall);
        assert_int_equal(p->extends, inner->extends);
        assert_int_equal(p->settles, inner->settles);
        assert_int_equal(p->listens, inner->listens);
        assert_int_equal(p->yields, inner->yields);
        assert_null(p->fault);
    }
    assert_null(bwl_protocol_synced(&bwl_set_nx_ex));
}

int main(void)
{
#define OF(setup, test) cmocka_unit_test_setup(test, setup)
    const struct CMUnitTest tests[] = {
        OF(token, test_synced_counts_when_the_replicas_have_it),
        OF(queue, test_synced_fence_comes_with_it),
        OF(token, test_synced_what_is_not_ours_is_no_matter_of_replicas),
        OF(token, test_synced_too_few_are_asked_until_they_took_too_long),
        OF(token, test_synced_late_replicas_are_in_time),
        OF(token, test_synced_who_has_not_waited_is_not_asked_again),
        OF(token, test_synced_nobody_is_asked_when_the_lease_is_over),
        OF(token, test_synced_connection_that_ends_takes_the_answer_along),
        OF(token, test_synced_token_that_was_settled_counts_from_its_first_question),
        OF(token, test_synced_release_does_not_wait_for_replicas),
        OF(queue, test_synced_grant_counts_behind_a_yes_of_our_own),
        OF(queue, test_synced_grant_that_came_too_late_asks_no_replica),
        OF(queue, test_synced_grant_of_no_use_is_given_on),
        OF(queue, test_synced_queue_that_was_settled_is_confirmed),
        OF(queue, test_synced_yield_counts_like_an_acquire),
        OF(token, test_synced_extension_counts_when_the_replicas_have_it),
        OF(queue, test_synced_extension_counts_when_the_replicas_have_it),
        OF(token, test_synced_extension_that_too_few_have_has_failed),
        cmocka_unit_test(test_synced_is_what_it_is_made_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
