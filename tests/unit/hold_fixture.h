/*
 * hold_fixture.h -- one hold on a protocol that tells what the test wants, for the tests of hold.c.
 *
 * The fake protocol puts one question per command, its word being the verb, and tells what it is
 * told to tell: by the next event, or at once by the next command, as a protocol does that has
 * nothing to ask.  Time is what the test says.  `be` brings a hold into any of its states.
 */
#ifndef HOLD_FIXTURE_H
#define HOLD_FIXTURE_H

#include "lock/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LEASE_MS = 30000, ANSWER_MS = 5000, START = 100000, WAIT_MS = 8000 };

typedef struct fake_script {
    bwl_outcome command_tells; /* the next command tells this at once and asks nothing */
    bwl_outcome event_tells;   /* the next event tells this                            */
    bwl_ms      wake_at;       /* the next event or command wishes for this, if not 0  */
    bwl_ms      slack_ms;      /* ... or so much later                                 */
    bwl_command cmd;           /* the latest                                           */
    unsigned    commands;
    unsigned    events;
} fake_script;

static fake_script fake;
static bwl_hold    hold;
static bwl_effects fx; /* of the latest step */
static bwl_terms   terms;
static uint16_t    chance; /* the bits that choose a pause                        */
static uint8_t     turn;   /* makes every event's random bytes new                */

static inline void fake_init(void *state, unsigned nodes)
{
    assert_int_equal(nodes, 1);
    memset(state, 0, 8);
}

static inline void fake_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                                bwl_effects *effects)
{
    (void)state;
    assert_int_equal(strlen(claim->token), hold.protocol->uses_token ? 22 : 0);
    fake.commands++;
    fake.cmd = *cmd;
    if (fake.wake_at != 0)
        bwl_wake_about(effects, fake.wake_at, fake.slack_ms);
    fake.wake_at = 0;
    if (fake.command_tells.kind == BWL_PENDING)
        bwl_ask_node(effects, 0, cmd->verb, fake.commands);
    else
        effects->outcome = fake.command_tells;
    fake.command_tells = (bwl_outcome){ 0 };
}

static inline void fake_event(void *state, const bwl_claim *claim, const bwl_event *ev,
                              bwl_effects *effects)
{
    (void)state;
    (void)claim;
    (void)ev;
    fake.events++;
    if (fake.wake_at != 0)
        bwl_wake_about(effects, fake.wake_at, fake.slack_ms);
    fake.wake_at     = 0;
    effects->outcome = fake.event_tells;
    fake.event_tells = (bwl_outcome){ 0 };
}

static const bwl_protocol fake_protocol = {
    .name       = "fake",
    .state_size = 8,
    .uses_token = true,
    .extends    = true,
    .settles    = true,
    .init       = fake_init,
    .command    = fake_command,
    .event      = fake_event,
};

/* One that cannot tell its own value from another's. */
static const bwl_protocol unsettled_protocol = {
    .name       = "unsettled",
    .state_size = 8,
    .uses_token = true,
    .init       = fake_init,
    .command    = fake_command,
    .event      = fake_event,
};

/* ---- one step each --------------------------------------------------------------------------- */

static inline int new_hold(void **state)
{
    (void)state;
    fake   = (fake_script){ 0 };
    fx     = (bwl_effects){ 0 };
    chance = 0;
    terms  = (bwl_terms){
         .lease_ms = LEASE_MS, .max_hold_ms = BWL_NEVER, .answer_ms = ANSWER_MS, .renews = true
    };
    bwl_hold_init(&hold, &fake_protocol, 1, &terms);
    return 0;
}

/* With other terms than the usual ones. */
static inline void hold_on(bwl_terms other)
{
    terms = other;
    bwl_hold_init(&hold, &fake_protocol, 1, &terms);
}

static inline bwl_random fresh(void)
{
    bwl_random random = { { (uint8_t)(chance >> 8), (uint8_t)(chance & 255), ++turn } };

    return random;
}

static inline void acquire(bwl_ms now, bwl_ms give_up_at)
{
    bwl_random random = fresh();

    fx = (bwl_effects){ 0 };
    bwl_hold_acquire(&hold, &random, (bwl_moment){ .now = now }, give_up_at, &fx);
}

static inline void happens(bwl_event_kind kind, bwl_ms now)
{
    bwl_event ev = { .kind = kind, .now = now, .fresh = fresh() };

    fx = (bwl_effects){ 0 };
    bwl_hold_event(&hold, &ev, &fx);
}

static inline void alarm_at(bwl_ms now)
{
    happens(BWL_ALARM, now);
}

/* At this time the protocol comes to know this. */
static inline void told(bwl_outcome_kind kind, bwl_ms now)
{
    fake.event_tells = (bwl_outcome){ .kind = kind, .until = now + LEASE_MS - 1, .fence = 77 };
    happens(BWL_REPLY, now);
}

static inline void told_held(bwl_ms until, bwl_ms now)
{
    fake.event_tells = (bwl_outcome){ .kind = BWL_HELD, .until = until, .fence = 77 };
    happens(BWL_REPLY, now);
}

static inline void extend(bwl_ms now, bwl_ms lease_ms)
{
    fx = (bwl_effects){ 0 };
    bwl_hold_extend(&hold, now, lease_ms, &fx);
}

static inline void release(bwl_ms now)
{
    fx = (bwl_effects){ 0 };
    bwl_hold_release(&hold, (bwl_moment){ .now = now }, &fx);
}

static inline void yield(bwl_ms now, bwl_ms give_up_at)
{
    bwl_random random = fresh();

    fx = (bwl_effects){ 0 };
    bwl_hold_yield(&hold, &random, (bwl_moment){ .now = now }, give_up_at, &fx);
}

static inline void cancel(bwl_ms now)
{
    fx = (bwl_effects){ 0 };
    bwl_hold_cancel(&hold, now, &fx);
}

static inline void disown(bwl_ms now)
{
    fx = (bwl_effects){ 0 };
    bwl_hold_disown(&hold, now, &fx);
}

static inline void give_back(bwl_ms now)
{
    fx = (bwl_effects){ 0 };
    bwl_hold_give_back(&hold, (bwl_moment){ .now = now }, &fx);
}

/* ---- what came of it ------------------------------------------------------------------------- */

/* The state, what the caller was told, and the verb that was asked (0: nothing). */
static inline void expect(bwl_hold_state state, bwl_outcome_kind outcome, unsigned verb)
{
    assert_int_equal(hold.state, state);
    assert_int_equal(fx.outcome.kind, outcome);
    assert_int_equal(fx.asks_count, verb == 0 ? 0 : 1);
    if (verb != 0)
        assert_int_equal(fx.asks[0].word, verb);
    assert_true(fx.wake_at > 0);
    if (state == BWL_HOLD_OVER)
        assert_int_equal(fx.wake_at, BWL_NEVER);
}

/* ---- into any state -------------------------------------------------------------------------- */

/* A hold that waits until START + WAIT_MS at most comes into this state, at START. */
static inline void be(bwl_hold_state state)
{
    acquire(START, START + WAIT_MS);
    switch (state) {
    case BWL_HOLD_SETTLING:
        told(BWL_UNKNOWN, START);
        alarm_at(fx.wake_at);
        expect(BWL_HOLD_SETTLING, BWL_PENDING, BWL_ACQUIRE);
        break;
    case BWL_HOLD_DISCARDING: told_held(START, START); break;
    case BWL_HOLD_WAITING: told(BWL_BUSY, START); break;
    case BWL_HOLD_QUEUED: told(BWL_QUEUED, START); break;
    case BWL_HOLD_HELD: told(BWL_HELD, START); break;
    case BWL_HOLD_RENEWING:
        told(BWL_HELD, START);
        alarm_at(fx.wake_at);
        break;
    case BWL_HOLD_DISOWNED:
        told(BWL_HELD, START);
        disown(START);
        break;
    case BWL_HOLD_RELEASING:
        told(BWL_HELD, START);
        release(START);
        break;
    case BWL_HOLD_YIELDING:
        told(BWL_HELD, START);
        yield(START, START + WAIT_MS);
        break;
    case BWL_HOLD_LEAVING: cancel(START); break;
    case BWL_HOLD_ABANDONING:
        bwl_hold_init(&hold, &unsettled_protocol, 1, &terms);
        acquire(START, START + WAIT_MS);
        cancel(START);
        break;
    case BWL_HOLD_OVER: told(BWL_STORE_REFUSED, START); break;
    case BWL_HOLD_ACQUIRING:
    case BWL_HOLD_IDLE: break;
    }
    assert_int_equal(hold.state, state);
}

#endif
