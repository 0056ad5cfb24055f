/*
 * test_protocols.c -- the table of protocols: names, and the defaults of the articles.
 */
#include "lock/machine.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/quorum.h"
#include "protocol/local_lock.h"
#include "protocol/articles.h"
#include "protocol/protocol.h"
#include "protocol/state.h"
#include "tests/lib/suite.h"

TEST(every_name_finds_its_protocol)
{
    static const char *const names[] = { "queue",           "token",
                                         "redisson",        "symfony",
                                         "setnx-del",       "setnx-del-expire",
                                         "setnx-stamp-del", "setnx-getset",
                                         "set-nx-ex",       "setnx-expire-watch" };
    size_t                   count   = 0;

    while (bwl_protocol_name_at(count) != NULL)
        count++;
    assert_int_equal(count, COUNT_OF(names));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(bwl_protocol_name_at(i), names[i]);
        assert_string_equal(bwl_protocol_named(names[i])->name, names[i]);
    }
    assert_null(bwl_protocol_name_at(count + 1));
}

TEST(only_the_articles_have_a_fault)
{
    for (size_t i = 0; bwl_protocol_name_at(i) != NULL; i++) {
        const bwl_protocol *protocol = bwl_protocol_named(bwl_protocol_name_at(i));
        const char *fault = bwl_protocol_fault(protocol, bwl_protocol_compat_rules(protocol));
        assert_int_equal(fault == NULL, protocol->extends);
        assert_true(fault == NULL || strlen(fault) < 150);
    }
    assert_null(bwl_protocol_fault(&bwl_setnx_getset, &bwl_compat_rules_server));
    assert_non_null(bwl_protocol_fault(&bwl_setnx_getset, NULL));
}

TEST(defaults_are_those_of_the_articles)
{
    const bwl_compat_rules *watch = bwl_protocol_compat_rules(&bwl_setnx_expire_watch);

    assert_false(bwl_protocol_compat_rules(&bwl_redisson)->counts_fences);
    assert_string_equal(bwl_protocol_compat_rules(&bwl_set_nx_ex)->literal, "1");
    assert_ptr_equal(bwl_protocol_compat_rules(&bwl_setnx_getset), &bwl_compat_rules_seconds);
    assert_int_equal(watch->wait_ms, 50000);
    assert_int_equal(watch->pause_ms, 200);
    assert_int_equal(bwl_compat_rules_jedis.pause_ms, 100);
    assert_int_equal(bwl_compat_rules_jedis.wait_ms, 300);
}

/* ---- the times of a waiter in the queue ------------------------------------------------------ */

enum { AT = 500000, SLACK_MS = 22 }; /* time of the request; the allowance for our clock */

/* The shortest and the longest interval over all random numbers. */
static void heartbeats_of(const bwl_queue_status *queue_status, bwl_ms *ret_least, bwl_ms *ret_most)
{
    *ret_least = BWL_NEVER;
    *ret_most  = 0;
    for (unsigned i = 0; i < 65536; i++) {
        bwl_random random = { { (uint8_t)(i >> 8), (uint8_t)(i & 255) } };
        bwl_ms     ms     = queue_status == NULL ? bwl_queue_retry_ms(&random)
                                                 : bwl_queue_heartbeat_ms(queue_status, &random);
        *ret_least        = bwl_ms_min(*ret_least, ms);
        *ret_most         = ms > *ret_most ? ms : *ret_most;
    }
}

/* A holder that is not bowline deletes its key without a push, so the first waiter polls it. */
TEST(heartbeat_interval_depends_on_the_queue_status)
{
    static const struct {
        bwl_queue_status queue_status;
        bwl_ms           least_ms, most_ms;
        bool             may_slip;
    } rows[] = {
        { { .rank = 1, .is_ours = true, .ends = true, .left_ms = 5 }, 1000, 2000, true },
        { { .rank = 1 }, 1000, 2000, true },
        { { .rank = UINT64_MAX }, 1000, 2000, true },
        { { .is_ours = true, .ends = true, .left_ms = -1 }, 2, 2, false },
        { { .is_ours = true, .ends = true, .left_ms = 0 }, 2, 2, false },
        { { .is_ours = true, .ends = true, .left_ms = 400 }, 402, 402, false },
        { { .is_ours = true, .ends = true, .left_ms = 998 }, 1000, 1000, false },
        { { .is_ours = true, .ends = true, .left_ms = 999 }, 1000, 1000, false },
        { { .is_ours = true, .ends = true, .left_ms = 1050 }, 1000, 1000, false },
        { { .is_ours = true, .ends = true, .left_ms = 1051 }, 1000, 1000, true },
        { { .is_ours = true, .ends = true, .left_ms = BWL_NEVER }, 1000, 1000, true },
        { { .ends = true, .left_ms = 5000 }, 50, 250, false },
        { { .is_ours = true, .left_ms = 5000 }, 50, 250, false },
        { { 0 }, 50, 250, false },
    };
    bwl_ms least_ms, most_ms;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        heartbeats_of(&rows[i].queue_status, &least_ms, &most_ms);
        assert_int_equal(least_ms, rows[i].least_ms);
        assert_int_equal(most_ms, rows[i].most_ms);
        assert_int_equal(bwl_queue_slack_ms(&rows[i].queue_status),
                         rows[i].may_slip ? BWL_QUEUE_SLACK_MS : 0);
    }
    heartbeats_of(NULL, &least_ms, &most_ms);
    assert_int_equal(least_ms, 500);
    assert_int_equal(most_ms, 1000);
    assert_true(2 * BWL_QUEUE_HEARTBEAT_MS + BWL_QUEUE_SLACK_MS < 3 * BWL_QUEUE_HEARTBEAT_MS);
}

/* The grant counts from AT at the earliest, and never from after the moment at which it arrives
 * here. The drift is one per cent and 2 ms.  After a clock was set, the times of the server are not
 * used. */
TEST(grant_counts_from_the_time_that_passed_on_the_server)
{
    static const int64_t server = INT64_C(1700000000000000);
    static const struct {
        int64_t seen_us, given_us; /* given: since seen */
        bwl_ms  now, after;        /* since AT          */
    } rows[] = {
        { server, 1000000, 60000, 988 }, { server, 10000000, 60000, 9898 },
        { server, 50000, 60000, 48 },    { server, 49999, 60000, 47 },
        { server, 1999, 60000, 0 },      { server, 1, 60000, 0 },
        { server, 0, 60000, 0 },         { server, 1000000, 1000, 988 },
        { server, 1000000, 99000, 988 }, { server, 1000000, 980, 980 },
        { server, 1000000, 966, 966 },   { server, 1000000, 965, 0 },
        { server, 3600000000, 20, 0 },   { server, INT64_MAX - server, 20, 0 },
        { server, -1, 5000, 0 },         { server, -server, 5000, 0 },
        { server, INT64_MIN, 5000, 0 },  { 0, server, 5000, 0 },
        { 0, 1000000, 5000, 0 },         { -1, INT64_MAX, 5000, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(
            bwl_queue_granted_after((bwl_clock_sample){ .at = AT, .server_us = rows[i].seen_us },
                                    rows[i].seen_us + rows[i].given_us, AT + rows[i].now, SLACK_MS),
            AT + rows[i].after);
}

/* ---- events that no lock machine causes and no server sends ---------------------------------- */

static unsigned char state_of[BWL_PROTOCOL_STATE_MAX] __attribute__((aligned(8)));
static bwl_effects   fx;
static uint32_t      tag_of[2]; /* of the latest two requests, the latest first */

static const bwl_protocol_options options = { .replicas = 1 };
static const bwl_lock_request     request = {
        .token = "token", .lease_ms = 30000, .answer_ms = 500, .options = &options
};

static void learn_tags(void)
{
    for (unsigned i = 0; i < fx.send_count; i++)
        if (fx.sends[i].tag != tag_of[0]) {
            tag_of[1] = tag_of[0];
            tag_of[0] = fx.sends[i].tag;
        }
}

static void command(const bwl_protocol *p, bwl_verb verb)
{
    bwl_command cmd = { .verb = verb, .now = AT };

    fx = (bwl_effects){ 0 };
    p->command(state_of, &request, &cmd, &fx);
    learn_tags();
}

static bwl_outcome_kind outcome_of(const bwl_protocol *p, bwl_event ev)
{
    ev.now = AT;
    fx     = (bwl_effects){ 0 };
    p->event(state_of, &request, &ev, &fx);
    learn_tags();
    return fx.outcome.kind;
}

TEST(each_server_has_one_vote)
{
    bwl_event yes = { .kind = BWL_REPLY, .answer = BWL_YES };

    bwl_redlock.init(state_of, 3);
    command(&bwl_redlock, BWL_ACQUIRE);
    yes.tag = tag_of[0];
    assert_int_equal(outcome_of(&bwl_redlock, yes), BWL_PENDING);
    yes.answer = BWL_NO;
    assert_int_equal(outcome_of(&bwl_redlock, yes), BWL_PENDING);
    yes.answer = BWL_YES;
    assert_int_equal(outcome_of(&bwl_redlock, (bwl_event){ .kind = BWL_ALARM }), BWL_PENDING);
    yes.node = 2;
    assert_int_equal(outcome_of(&bwl_redlock, yes), BWL_HELD);
}

TEST(reply_to_an_earlier_WAIT_does_not_count)
{
    bwl_event yes = { .kind = BWL_REPLY, .answer = BWL_YES };
    uint32_t  before;

    bwl_synced_token.init(state_of, 1);
    command(&bwl_synced_token, BWL_ACQUIRE);
    yes.tag = tag_of[0];
    (void)outcome_of(&bwl_synced_token, yes);
    before = tag_of[0]; /* of WAIT */
    command(&bwl_synced_token, BWL_RELEASE);
    yes.tag = tag_of[0];
    assert_int_equal(outcome_of(&bwl_synced_token, yes), BWL_RELEASED);
    command(&bwl_synced_token, BWL_ACQUIRE);
    yes.tag = tag_of[0];
    (void)outcome_of(&bwl_synced_token, yes);
    yes.tag = before;
    assert_int_equal(outcome_of(&bwl_synced_token, yes), BWL_PENDING);
    yes.tag = tag_of[0];
    assert_int_equal(outcome_of(&bwl_synced_token, yes), BWL_HELD);
}

TEST(local_waiter_that_lost_its_hold_can_acquire_again)
{
    bwl_outcome granted = { .kind = BWL_HELD, .until = AT + 9000, .fence = 5 };
    bwl_outcome gone    = { .kind = BWL_LOST };
    bwl_event   pushed  = { .kind = BWL_PUSH, .answer = BWL_YES, .details = &granted };
    bwl_event   lost    = { .kind = BWL_PUSH, .answer = BWL_NO, .details = &gone };

    bwl_local_waiter_protocol.init(state_of, 1);
    command(&bwl_local_waiter_protocol, BWL_ACQUIRE);
    assert_int_equal(outcome_of(&bwl_local_waiter_protocol, pushed), BWL_HELD);
    assert_int_equal(outcome_of(&bwl_local_waiter_protocol, lost), BWL_LOST);
    assert_int_equal(outcome_of(&bwl_local_waiter_protocol, pushed), BWL_PENDING);
    command(&bwl_local_waiter_protocol, BWL_ACQUIRE);
    assert_int_equal(fx.send_count, 1);
}

/* It reports QUEUED once, and NO ends the attempt. */
TEST(local_queue_reports_QUEUED_once)
{
    bwl_event no = { .kind = BWL_REPLY, .answer = BWL_NO };

    bwl_ticket.init(state_of, 1);
    command(&bwl_ticket, BWL_ACQUIRE);
    no.tag = tag_of[0];
    assert_int_equal(outcome_of(&bwl_ticket, no), BWL_BUSY);
    fx = (bwl_effects){ 0 };
    bwl_ticket.command(state_of, &request, &(bwl_command){ .verb = BWL_ACQUIRE, .may_wait = true },
                       &fx);
    learn_tags();
    no.tag = tag_of[0];
    assert_int_equal(outcome_of(&bwl_ticket, no), BWL_QUEUED);
    assert_int_equal(outcome_of(&bwl_ticket, (bwl_event){ .kind = BWL_ALARM }), BWL_PENDING);
    no.tag = tag_of[0];
    assert_int_equal(outcome_of(&bwl_ticket, no), BWL_PENDING);
    assert_int_equal(
        outcome_of(&bwl_ticket, (bwl_event){ .kind = BWL_PUSH, .answer = BWL_YES, .number = 7 }),
        BWL_HELD);
    command(&bwl_ticket, BWL_EXTEND);
    assert_int_equal(fx.outcome.until, BWL_NEVER);
    assert_int_equal(fx.outcome.fence, 7);
}
