/*
 * machine_fixture.h -- a protocol machine alone, one step at a time: what it is commanded and
 * told, what it asks and tells.
 */
#ifndef BWL_TEST_MACHINE_FIXTURE_H
#define BWL_TEST_MACHINE_FIXTURE_H

#include "core/rules.h"
#include "lock/machine.h"
#include "protocol/protocol.h"
#include "protocol/store/redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)

enum { LEASE_MS = 10000, NOW = 5000000, NOTHING = 0 };
#define WALL (INT64_C(1700000000) * SECOND_NS) /* when a test begins */

_Alignas(8) static unsigned char machine[BWL_PROTOCOL_STATE_MAX];
static const bwl_protocol *protocol;
static bwl_claim           claim;
static bwl_effects         fx;
static bwl_ms              now;
static int64_t             wall;

static inline void begin_with(const bwl_protocol *p, const bwl_rules *rules)
{
    assert_true(p->state_size <= sizeof machine);
    protocol = p;
    claim    = (bwl_claim){ .attempt = 1, .lease_ms = LEASE_MS, .rules = rules };
    now      = NOW;
    wall     = WALL;
    fx       = (bwl_effects){ 0 };
    memcpy(claim.token, "AAAAAAAAAAAAAAAAAAAAAA", 23);
    memset(machine, 0xa5, sizeof machine);
    p->init(machine, 1);
}

/* Both clocks go on. */
static inline void time_passes(bwl_ms ms)
{
    now += ms;
    wall += ms * MS_NS;
}

/* ---- what happens to it ---------------------------------------------------------------------- */

static inline void command(bwl_command cmd)
{
    cmd.now     = now;
    cmd.wall_ns = wall;
    fx          = (bwl_effects){ 0 };
    protocol->command(machine, &claim, &cmd, &fx);
}

static inline void acquire(void)
{
    command((bwl_command){ .verb = BWL_ACQUIRE, .may_wait = true });
}

static inline void release(void)
{
    command((bwl_command){ .verb = BWL_RELEASE });
}

static uint32_t open_tag; /* of the latest question */

static inline void happens(bwl_event ev)
{
    ev.now     = now;
    ev.wall_ns = wall;
    if (ev.tag == 0)
        ev.tag = open_tag;
    fx = (bwl_effects){ 0 };
    protocol->event(machine, &claim, &ev, &fx);
}

static inline void says(bwl_answer answer)
{
    happens((bwl_event){ .kind = BWL_REPLY, .answer = answer });
}

static inline void says_number(uint64_t number)
{
    happens((bwl_event){ .kind = BWL_REPLY, .answer = BWL_YES, .number = number });
}

/* A value that these rules could have written; its print is its stamp here, plus one. */
static inline void shows(int64_t stamp, bool is_mine)
{
    happens((bwl_event){ .kind    = BWL_REPLY,
                         .answer  = BWL_YES,
                         .number  = (uint64_t)stamp,
                         .print   = (uint64_t)stamp + 1,
                         .is_mine = is_mine });
}

static inline void cut(void)
{
    happens((bwl_event){ .kind = BWL_DOWN });
}

/* ---- what it does ---------------------------------------------------------------------------- */

static inline void expect_ask(bwl_redis_word word, int64_t stamp)
{
    assert_int_equal(fx.outcome.kind, BWL_PENDING);
    assert_int_equal(fx.asks_count, 1);
    assert_int_equal(fx.asks[0].word, word);
    assert_int_equal(fx.asks[0].stamp, stamp);
    assert_int_equal(fx.asks[0].node, 0);
    assert_true(fx.asks[0].tag != 0);
    assert_int_equal(fx.wake_at, 0);
    open_tag = fx.asks[0].tag;
}

static inline void expect_told(bwl_outcome_kind kind)
{
    assert_int_equal(fx.outcome.kind, kind);
    assert_int_equal(fx.asks_count, 0);
    assert_int_equal(fx.wake_at, 0);
}

static inline void expect_held_until(bwl_ms until)
{
    expect_told(BWL_HELD);
    assert_int_equal(fx.outcome.until, until);
    assert_int_equal(fx.outcome.fence, 0);
}

static inline void expect_nothing(void)
{
    expect_told(BWL_PENDING);
}

/* ---- what is the same for all ---------------------------------------------------------------- */

/* `get_there` leaves a question open.  Whatever it is, if it was not carried out, that is told, and
 * if there is no answer, `without_answer` is (PENDING: that is for the caller to look at). */
static inline void expect_failures_told(void (*get_there)(void), bwl_outcome_kind without_answer)
{
    static const struct {
        bwl_answer       answer;
        bwl_outcome_kind kind;
    } rows[] = {
        { BWL_LATER, BWL_NOT_NOW },
        { BWL_REFUSED, BWL_STORE_REFUSED },
        { BWL_UNSENT, BWL_UNREACHABLE },
    };

    for (unsigned i = 0; i < 3; i++) {
        get_there();
        says(rows[i].answer);
        expect_told(rows[i].kind);
        says(BWL_YES); /* late, about a question that has ended */
        expect_nothing();
    }
    get_there();
    cut();
    if (without_answer != BWL_PENDING)
        expect_told(without_answer);
}

/* What is about no question of its own, it does not hear. */
static inline void expect_deaf_to_others(void (*get_there)(void))
{
    get_there();
    happens((bwl_event){ .kind = BWL_REPLY, .answer = BWL_YES, .tag = open_tag + 1 });
    expect_nothing();
    happens((bwl_event){ .kind = BWL_DOWN, .tag = open_tag + 1 });
    expect_nothing();
    happens((bwl_event){ .kind = BWL_ALARM });
    expect_nothing();
    happens((bwl_event){ .kind = BWL_PUSH, .answer = BWL_YES });
    expect_nothing();
}

#endif
