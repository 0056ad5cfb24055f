/*
 * redlock_fixture.h -- the machine of `redlock` alone: what servers say, what it asks and tells.
 *
 * A lease of 10000 ms has a drift allowance of 102 ms: a majority is worth 9898 ms from before the
 * first server was asked.
 */
#ifndef BWL_TEST_REDLOCK_FIXTURE_H
#define BWL_TEST_REDLOCK_FIXTURE_H

#include "lock/machine.h"
#include "protocol/protocol.h"
#include "protocol/quorum.h"
#include "protocol/store/redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LEASE_MS = 10000, WORTH_MS = 9898, NOW = 5000000 };

static _Alignas(8) unsigned char machine[BWL_PROTOCOL_STATE_MAX];
static unsigned    nodes;
static bwl_claim   claim;
static bwl_effects fx;
static bwl_ms      now;
static uint32_t    round_tag;

static inline void servers(unsigned number)
{
    assert_true(bwl_redlock.state_size <= sizeof machine);
    memset(machine, 0xa5, sizeof machine);
    nodes = number;
    claim = (bwl_claim){ .token = "AAECAwQFBgcICQoLDA0ODw", .attempt = 1, .lease_ms = LEASE_MS };
    now   = NOW;
    round_tag = 0;
    bwl_redlock.init(machine, number);
}

static inline void nothing_else(void)
{
    assert_int_equal(fx.asks_count, 0);
    assert_int_equal(fx.wake_at, 0);
}

/* Every server is asked the same, each once. */
static inline void expect_all_asked(bwl_redis_word word)
{
    assert_int_equal(fx.asks_count, nodes);
    for (unsigned i = 0; i < nodes; i++) {
        assert_int_equal(fx.asks[i].word, word);
        assert_int_equal(fx.asks[i].node, i);
        assert_int_equal(fx.asks[i].tag, fx.asks[0].tag);
    }
}

static inline void command(bwl_command cmd, bwl_redis_word word)
{
    uint32_t before = round_tag;

    cmd.now = now;
    fx      = (bwl_effects){ 0 };
    bwl_redlock.command(machine, &claim, &cmd, &fx);
    expect_all_asked(word);
    assert_int_equal(fx.outcome.kind, BWL_PENDING);
    assert_int_equal(fx.wake_at, 0);
    round_tag = fx.asks[0].tag;
    assert_int_not_equal(round_tag, before);
    assert_int_not_equal(round_tag, 0);
}

static inline void acquire(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .may_wait = true }, REDIS_SET_IF_ABSENT);
}

static inline void acquire_again(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .again = true }, REDIS_SET_IF_ABSENT_OR_MINE);
}

static inline void extend(void)
{
    command((bwl_command){ .verb = BWL_EXTEND }, REDIS_EXTEND_IF_MINE);
}

static inline void release(void)
{
    command((bwl_command){ .verb = BWL_RELEASE }, REDIS_DELETE_IF_MINE);
}

static inline bwl_outcome_kind happens(bwl_event ev)
{
    ev.now = now;
    fx     = (bwl_effects){ 0 };
    bwl_redlock.event(machine, &claim, &ev, &fx);
    return fx.outcome.kind;
}

static inline bwl_outcome_kind says(unsigned node, bwl_answer answer)
{
    return happens((bwl_event){
        .kind = BWL_REPLY, .node = (uint8_t)node, .tag = round_tag, .answer = answer });
}

static inline bwl_outcome_kind goes_away(unsigned node)
{
    return happens((bwl_event){ .kind = BWL_DOWN, .node = (uint8_t)node, .tag = round_tag });
}

static inline bwl_outcome_kind alarm_rings(void)
{
    return happens((bwl_event){ .kind = BWL_ALARM });
}

/* The first so many servers say this; nothing comes of it yet. */
static inline void first_say(unsigned from, unsigned to, bwl_answer answer)
{
    for (unsigned i = from; i < to; i++)
        assert_int_equal(says(i, answer), BWL_PENDING);
}

static inline void hold(unsigned number)
{
    servers(number);
    acquire();
    first_say(0, number / 2, BWL_YES);
    assert_int_equal(says(number / 2, BWL_YES), BWL_HELD);
}

#endif
