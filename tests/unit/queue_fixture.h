/*
 * queue_fixture.h -- the machine of a lock with a queue, alone: one step at a time.
 *
 * A lease of 30000 ms has a drift allowance of 302 ms, a claim of 2000 ms one of 22 ms: they are
 * worth 29698 and 1978 ms.  The server's clock shows 1700000000 s when ours shows NOW.
 */
#ifndef QUEUE_FIXTURE_H
#define QUEUE_FIXTURE_H

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

enum { LEASE_MS = 30000, WORTH_MS = 29698, CLAIM_MS = 2000, CLAIM_WORTH_MS = 1978 };
enum { NOW = 5000000, TICKET = 70, FENCE = 9000 };

#define SERVER_US (INT64_C(1700000000) * 1000000)

_Alignas(8) static unsigned char machine[BWL_PROTOCOL_STATE_MAX];
static bwl_claim   claim;
static bwl_effects fx;
static bwl_ms      now;
static uint32_t    asked;  /* the tag of the latest question */
static uint16_t    chance; /* the bits that choose a pause   */

static inline int new_machine(void **state)
{
    (void)state;
    assert_true(bwl_queue.state_size <= sizeof machine);
    memset(machine, 0xa5, sizeof machine);
    claim  = (bwl_claim){ .token = "AAECAwQFBgcICQoLDA0ODw", .attempt = 1, .lease_ms = LEASE_MS };
    fx     = (bwl_effects){ 0 };
    now    = NOW;
    asked  = 0;
    chance = 0;
    bwl_queue.init(machine, 1);
    return 0;
}

/* ---- what happens to it ---------------------------------------------------------------------- */

static inline void command(bwl_command cmd)
{
    cmd.now = now;
    fx      = (bwl_effects){ 0 };
    bwl_queue.command(machine, &claim, &cmd, &fx);
    if (fx.asks_count > 0)
        asked = fx.asks[0].tag;
}

static inline void happens(bwl_event ev)
{
    ev.now   = now;
    ev.fresh = (bwl_random){ { (uint8_t)(chance >> 8), (uint8_t)(chance & 255) } };
    fx       = (bwl_effects){ 0 };
    bwl_queue.event(machine, &claim, &ev, &fx);
    if (fx.asks_count > 0)
        asked = fx.asks[0].tag;
}

static inline void says(bwl_answer answer)
{
    happens((bwl_event){ .kind = BWL_REPLY, .tag = asked, .answer = answer });
}

static inline void says_how(bwl_answer answer, uint64_t number, bwl_place place)
{
    happens((bwl_event){
        .kind = BWL_REPLY, .tag = asked, .answer = answer, .number = number, .place = &place });
}

static inline int64_t server_us(void)
{
    return SERVER_US + (now - NOW) * 1000;
}

/* In line behind `rank` others; one of ours has it for 10 s. */
static inline void says_queued(uint64_t rank)
{
    says_how(BWL_NO, 0,
             (bwl_place){ .how       = BWL_HOW_QUEUED,
                          .is_ours   = true,
                          .ends      = true,
                          .left_ms   = 10000,
                          .ticket    = TICKET,
                          .rank      = rank,
                          .server_us = server_us() });
}

static inline void says_held(void)
{
    says_how(BWL_YES, FENCE, (bwl_place){ .how = BWL_HOW_HELD });
}

static inline void says_claimed(void)
{
    says_how(BWL_YES, FENCE, (bwl_place){ .how = BWL_HOW_CLAIMED });
}

static inline void says_mine(void)
{
    says_how(BWL_YES, FENCE,
             (bwl_place){ .how = BWL_HOW_MINE, .ends = true, .left_ms = 900, .ticket = TICKET });
}

static inline void says_gone(void)
{
    says_how(BWL_NO, 0, (bwl_place){ .how = BWL_HOW_GONE });
}

static inline void pushes(uint64_t fence, int64_t given_us)
{
    bwl_place place = { .server_us = given_us };

    happens((bwl_event){ .kind = BWL_PUSH, .answer = BWL_YES, .number = fence, .place = &place });
}

static inline void cut(void)
{
    happens((bwl_event){ .kind = BWL_DOWN, .tag = asked });
}

static inline void connection_ends(void)
{
    happens((bwl_event){ .kind = BWL_DOWN });
}

static inline void alarms(void)
{
    happens((bwl_event){ .kind = BWL_ALARM });
}

static inline void acquire(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .may_wait = true });
}

static inline void yield(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .may_wait = true, .yields = true });
}

static inline void look_only(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE });
}

static inline void acquire_again(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .again = true, .may_wait = true });
}

static inline void extend(void)
{
    command((bwl_command){ .verb = BWL_EXTEND });
}

static inline void release(void)
{
    command((bwl_command){ .verb = BWL_RELEASE });
}

/* ---- what it does ---------------------------------------------------------------------------- */

/* One question, no alarm; and `kind` is told with it. */
static inline void expect_asks_and_tells(bwl_redis_word word, bwl_outcome_kind kind)
{
    bool in_line =
        word == REDIS_QUEUE_JOIN || word == REDIS_QUEUE_BEAT || word == REDIS_QUEUE_REQUEUE;

    assert_int_equal(fx.asks_count, 1);
    assert_int_equal(fx.asks[0].word, word);
    assert_int_equal(fx.asks[0].node, 0);
    assert_int_not_equal(fx.asks[0].tag, 0);
    assert_int_equal(fx.asks[0].claim_ms != 0, in_line);
    assert_true(fx.asks[0].stamp == 0 || word == REDIS_QUEUE_JOIN);
    assert_int_equal(fx.wake_at, BWL_NEVER);
    assert_int_equal(fx.outcome.kind, kind);
}

static inline void expect_asks(bwl_redis_word word)
{
    expect_asks_and_tells(word, BWL_PENDING);
}

static inline void expect_told(bwl_outcome_kind kind)
{
    assert_int_equal(fx.outcome.kind, kind);
    assert_int_equal(fx.asks_count, 0);
    assert_int_equal(fx.wake_at, 0);
}

static inline void expect_nothing(void)
{
    expect_told(BWL_PENDING);
}

static inline void expect_held(bwl_ms until, uint64_t fence)
{
    expect_told(BWL_HELD);
    assert_int_equal(fx.outcome.until, until);
    assert_int_equal(fx.outcome.fence, fence);
}

/* Only a wish for an alarm. */
static inline void expect_waits(bwl_outcome_kind kind, bwl_ms ms)
{
    assert_int_equal(fx.outcome.kind, kind);
    assert_int_equal(fx.asks_count, 0);
    assert_int_equal(fx.wake_at, now + ms);
}

/* Held at once, for what is left of the claim, while the confirmation is out. */
static inline void expect_claims(bwl_ms until, uint64_t fence)
{
    expect_asks_and_tells(REDIS_QUEUE_EXTEND, BWL_HELD);
    assert_int_equal(fx.outcome.until, until);
    assert_int_equal(fx.outcome.fence, fence);
}

/* ---- into its phases ------------------------------------------------------------------------- */

static inline void be_asked(void)
{
    acquire();
    expect_asks(REDIS_QUEUE_JOIN);
}

static inline void be_settling(void)
{
    be_asked();
    cut();
    expect_told(BWL_UNKNOWN);
    acquire_again();
    expect_asks(REDIS_QUEUE_BEAT);
}

/* First in line, since NOW. */
static inline void be_queued(void)
{
    be_asked();
    says_queued(0);
    expect_waits(BWL_QUEUED, 1000);
}

static inline void be_beating(void)
{
    be_queued();
    now += 1000;
    alarms();
    expect_asks(REDIS_QUEUE_BEAT);
}

/* The push was lost; nothing was told but that we wait. */
static inline void be_claimed(void)
{
    be_beating();
    says_mine();
    expect_asks(REDIS_QUEUE_EXTEND);
}

static inline void be_confirming(void)
{
    be_queued();
    pushes(FENCE, server_us());
    expect_claims(NOW + CLAIM_WORTH_MS, FENCE);
}

static inline void be_held(void)
{
    be_asked();
    says_held();
    expect_held(NOW + WORTH_MS, FENCE);
}

static inline void be_extending(void)
{
    be_held();
    now += 10000;
    extend();
    expect_asks(REDIS_QUEUE_EXTEND);
}

#endif
