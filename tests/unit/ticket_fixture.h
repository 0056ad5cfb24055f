/*
 * ticket_fixture.h -- one ticket machine, handed commands and events by hand, for the tests of
 * ticket.c: what its latest step asked, what it told, and when it wants to be woken.
 */
#ifndef TICKET_FIXTURE_H
#define TICKET_FIXTURE_H

#include "protocol/protocol.h"
#include "protocol/store/local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WAITS = true, ONCE = false, NOTHING = 0 };

static _Alignas(8) unsigned char machine[64];
static const bwl_claim claim = { .lease_ms = 30000 };
static bwl_effects     fx;
static uint32_t        asked; /* the tag of the latest question */

static inline int new_machine(void **state)
{
    (void)state;
    memset(machine, 0xee, sizeof machine);
    assert_true(bwl_ticket.state_size <= sizeof machine);
    bwl_ticket.init(machine, 1);
    asked = 0;
    return 0;
}

static inline void command(bwl_verb verb, bool may_wait)
{
    bwl_command cmd = { .verb = verb, .may_wait = may_wait, .now = 1000 };

    fx = (bwl_effects){ 0 };
    bwl_ticket.command(machine, &claim, &cmd, &fx);
    if (fx.asks_count > 0)
        asked = fx.asks[0].tag;
}

static inline void happens(bwl_event ev)
{
    fx = (bwl_effects){ 0 };
    bwl_ticket.event(machine, &claim, &ev, &fx);
    if (fx.asks_count > 0)
        asked = fx.asks[0].tag;
}

/* What the latest step did: the word it asked or NOTHING, what it told, when it wants an alarm. */
static inline void expect(unsigned word, bwl_outcome_kind told, bwl_ms wake_at)
{
    assert_int_equal(fx.asks_count, word == NOTHING ? 0 : 1);
    if (word != NOTHING) {
        assert_int_equal(fx.asks[0].word, word);
        assert_int_equal(fx.asks[0].node, 0);
        assert_int_not_equal(fx.asks[0].tag, 0);
    }
    assert_int_equal(fx.outcome.kind, told);
    assert_int_equal(fx.wake_at, wake_at);
}

static inline void expect_nothing(void)
{
    expect(NOTHING, BWL_PENDING, 0);
}

static inline void expect_ours(uint64_t fence)
{
    expect(NOTHING, BWL_HELD, BWL_NEVER);
    assert_int_equal(fx.outcome.until, BWL_NEVER);
    assert_int_equal(fx.outcome.fence, fence);
}

static inline void reply(bwl_answer answer, uint64_t number, bwl_ms now)
{
    happens((bwl_event){
        .kind = BWL_REPLY, .tag = asked, .answer = answer, .number = number, .now = now });
}

static inline void late_reply(uint32_t tag, bwl_answer answer)
{
    happens(
        (bwl_event){ .kind = BWL_REPLY, .tag = tag, .answer = answer, .number = 99, .now = 5000 });
}

static inline void push(bwl_answer answer, uint64_t number, bwl_ms now)
{
    happens((bwl_event){ .kind = BWL_PUSH, .answer = answer, .number = number, .now = now });
}

static inline void alarm_rings(bwl_ms now)
{
    happens((bwl_event){ .kind = BWL_ALARM, .now = now });
}

/* In the queue since 2000, the first look due at 2001. */
static inline void be_queued(uint64_t will_push)
{
    command(BWL_ACQUIRE, WAITS);
    expect(LOCAL_JOIN, BWL_PENDING, BWL_NEVER);
    reply(BWL_NO, will_push, 2000);
    expect(NOTHING, BWL_QUEUED, 2001);
}

static inline void be_held(uint64_t fence)
{
    command(BWL_ACQUIRE, ONCE);
    reply(BWL_YES, fence, 2000);
    expect_ours(fence);
}

#endif
