/*
 * test_lock_time.c -- the timer that ends an acquire: what has not been sent is taken back, and
 * what has been sent is UNKNOWN.
 *
 * The engine is a fake that keeps every question until the test says what becomes of it.  Time is
 * client->latest, which the test moves forward.
 */
#include "api/engines.h"
#include "runtime/lock.h"
#include "api/engines.h"
#include "protocol/store/redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ANSWER_MS = 100000, SLACK_MS = 50, LEASE_MS = 400000, WAIT_MS = 300000 };

static bwl_engine      engine;
static bwl_shard      *client;
static bwl_lock       *lock;
static bwl_fault       fault;
static bwl_operation   operation;
static bwl_send        asked;
static unsigned        asks;
static bool            is_sent; /* the question that is out */
static unsigned        withdrawals;
static bwl_ms          began_at;
static const bwl_terms terms = {
    .lease_ms = LEASE_MS, .max_hold_ms = BWL_NEVER, .answer_ms = ANSWER_MS, .renews = true
};

static int fake_prepare(bwl_lock *l, bwl_fault *ret_fault)
{
    (void)l;
    (void)ret_fault;
    return BWL_OK;
}

static bool fake_ask(bwl_lock *l, const bwl_send *send, bwl_event *ret_reply)
{
    (void)l;
    (void)ret_reply;
    asked   = *send;
    is_sent = false;
    asks++;
    return false;
}

static void fake_forget(bwl_lock *l)
{
    (void)l;
}

static void reply(bwl_answer answer)
{
    bwl_lock_event(lock, (bwl_event){ .kind = BWL_REPLY, .answer = answer, .tag = asked.tag });
}

static void fake_withdraw(bwl_lock *l)
{
    assert_ptr_equal(l, lock);
    withdrawals++;
    if (!is_sent)
        reply(BWL_NOT_SENT);
}

static int open_client(void **state)
{
    static const bwl_settings nothing;

    (void)state;
    asks        = 0;
    withdrawals = 0;
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, "thread:", &fault),
                     BWL_OK);
    engine              = *client->host.engine;
    engine.protocol     = &bwl_token;
    engine.prepare      = fake_prepare;
    engine.send         = fake_ask;
    engine.forget       = fake_forget;
    engine.withdraw     = fake_withdraw;
    client->host.engine = &engine;
    bwl_shard_lock(client);
    assert_int_equal(bwl_lock_new(&lock, client, "n", &terms, &fault), BWL_OK);
    began_at = bwl_shard_now(client);
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bwl_shard_unlock(client);
    bwl_shard_close(client);
    return 0;
}

/* The clock comes to so many ms after the beginning, and the timer is looked at. */
static void come_to(bwl_ms after_ms)
{
    client->host.latest = began_at + after_ms;
    if (lock->timer.at <= client->host.latest)
        bwl_lock_event(lock, (bwl_event){ .kind = BWL_ALARM });
}

static void ask_within(bwl_ms wait_ms)
{
    bwl_lock_acquire(lock, &operation, wait_ms);
    began_at = client->host.latest;
    assert_int_equal(operation.completion.result, BWL_PENDING);
}

static void test_lock_that_is_not_answered_is_unknown_in_time(void **state)
{
    (void)state;
    ask_within(WAIT_MS);
    is_sent = true;
    assert_int_equal(lock->timer.at, began_at + WAIT_MS + ANSWER_MS + SLACK_MS);
    come_to(WAIT_MS + ANSWER_MS + SLACK_MS - 1);
    assert_int_equal(operation.completion.result, BWL_PENDING);
    come_to(WAIT_MS + ANSWER_MS + SLACK_MS);
    assert_int_equal(operation.completion.result, BWL_UNKNOWN);
    assert_string_equal(lock->base.why.text, "no answer within 100000 ms");
    assert_int_equal(asked.command, REDIS_DELETE_IF_MINE); /* what may be ours is taken back */
    assert_int_equal(lock->base.hold.state, BWL_HOLD_LEAVING);
    assert_true(lock->time_is_up_at == BWL_NEVER);
    reply(BWL_YES);
    assert_int_equal(lock->base.hold.state, BWL_HOLD_OVER);
}

static void test_lock_whose_question_was_not_sent_is_unreachable_in_time(void **state)
{
    (void)state;
    ask_within(0);
    come_to(ANSWER_MS + SLACK_MS);
    assert_int_equal(withdrawals, 1);
    assert_int_equal(operation.completion.result, BWL_UNREACHABLE);
    assert_int_equal(asks, 1); /* nothing is to be taken back */
    assert_int_equal(lock->base.hold.state, BWL_HOLD_OVER);
}

/* The first attempt failed before the end of the wait; the second one has not been sent then. */
static void test_lock_that_could_not_be_sent_before_ends_with_the_wait(void **state)
{
    (void)state;
    ask_within(WAIT_MS);
    come_to(ANSWER_MS);
    reply(BWL_NOT_SENT);
    come_to(ANSWER_MS + 500);
    assert_int_equal(asks, 2);
    assert_int_equal(lock->timer.at, began_at + WAIT_MS);
    come_to(WAIT_MS);
    assert_int_equal(operation.completion.result, BWL_UNREACHABLE);
    assert_int_equal(asks, 2);
}

/* The same, and the second one has been sent: it has the time for its answer. */
static void test_lock_that_was_sent_is_awaited_behind_the_wait(void **state)
{
    (void)state;
    ask_within(WAIT_MS);
    come_to(ANSWER_MS);
    reply(BWL_NOT_SENT);
    come_to(ANSWER_MS + 500);
    is_sent = true;
    come_to(WAIT_MS);
    assert_int_equal(withdrawals, 1);
    assert_int_equal(operation.completion.result, BWL_PENDING);
    assert_int_equal(lock->timer.at, began_at + WAIT_MS + ANSWER_MS + SLACK_MS);
    reply(BWL_YES);
    assert_int_equal(operation.completion.result, BWL_HELD);
    assert_true(lock->time_is_up_at == BWL_NEVER);
}

/* A lane that could not connect has used a part of the time. */
static void test_lock_whose_wait_was_over_has_the_rest_of_one_answer(void **state)
{
    (void)state;
    ask_within(-40000);
    is_sent = true;
    assert_int_equal(lock->timer.at, began_at - 40000 + ANSWER_MS + SLACK_MS);
    come_to(-40000 + ANSWER_MS + SLACK_MS);
    assert_int_equal(operation.completion.result, BWL_UNKNOWN);
}

static void test_lock_that_waits_for_ever_has_no_timer(void **state)
{
    (void)state;
    ask_within(BWL_NEVER);
    assert_true(lock->timer.at == BWL_NEVER);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_lock_that_is_not_answered_is_unknown_in_time),
        CASE(test_lock_whose_question_was_not_sent_is_unreachable_in_time),
        CASE(test_lock_that_could_not_be_sent_before_ends_with_the_wait),
        CASE(test_lock_that_was_sent_is_awaited_behind_the_wait),
        CASE(test_lock_whose_wait_was_over_has_the_rest_of_one_answer),
        CASE(test_lock_that_waits_for_ever_has_no_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
