/*
 * local_group_world.h -- the world of test_local_group.c: three callers with their holds, the local
 * group, and the store below it.
 */
#pragma once

#include "lock/local_group.h"
#include "lock/machine.h"
#include "protocol/store/waiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    CALLERS     = 3,
    LEASE_MS    = 1000,
    TICK_MS     = 300, /* three steps are less than a lease, four are more */
    BEGINNING   = 100000,
    FENCES      = 1024,
    SEEN_BITS   = 23,
    ACTIONS_MAX = 100, /* more actions in one step: it does not end */
    ALWAYS_NEW  = 0,
};

typedef enum invariant {
    ONE = 1,
    TRUE_,
    FIRST,
    FENCE,
    HANDOFFS,
    TIME,
    ACTION,
    PROGRESS,
    CLEAN,
    KEPT
} invariant;

static const char *const invariant_names[] = { "",         "ONE",      "TRUE", "FIRST",
                                               "FENCE",    "HANDOFFS", "TIME", "ACTION",
                                               "PROGRESS", "CLEAN",    "KEPT" };

/* A request of the group to the store, without a reply yet. */
typedef enum request { NOTHING = 0, ACQUIRE, EXTEND, YIELD, RELEASE } request;

typedef struct budget {
    uint8_t rounds; /* of each caller */
    uint8_t cancels;
    uint8_t extends;
    uint8_t losses;
    uint8_t failures;
    uint8_t ticks;
    uint8_t wants; /* of other clients */
    uint8_t departures;
} budget;

typedef struct caller {
    bwl_hold hold;
    bwl_ms   wake_at;
    uint32_t arrival; /* order of its join; 0: not in the group */
    uint8_t  rounds;
    bool     is_running;
    bool     was_held;
    bool     is_leaving;
} caller;

typedef struct world {
    bwl_group        group;
    bwl_local_waiter waiters[CALLERS + 1];
    caller           callers[CALLERS + 1];
    uint8_t          requested; /* a request */
    bool             is_held;
    bool             is_fresh;     /* granted or extended since the last handoff */
    bool             is_watched;   /* the store was asked */
    bool             is_confirmed; /* and has answered */
    bool             was_empty;    /* since the grant, no caller had the lock or waited for it */
    bool             is_wanted;    /* since the latest acquire or yield */
    bwl_ms           granted_at;
    bwl_ms           until;
    bwl_ms           now;
    uint64_t         given; /* fences of the store */
    uint64_t         fence; /* the latest one of a handoff */
    uint32_t         arrivals;
    uint8_t          handoffs;
    budget           left;
} world;

static unsigned  handoffs_max;
static bwl_ms    keep_ms;
static unsigned  broken; /* invariants, as bits */
static uint64_t *seen;
static size_t    worlds;

static void breaks(invariant which)
{
    broken |= 1u << which;
}

/* ---- the callers ----------------------------------------------------------------------------- */

static void run(world *w);
static void after(world *w, bwl_local_waiter_id n, const bwl_effects *fx);

static bool believes(const world *w, bwl_local_waiter_id n)
{
    return bwl_hold_left(&w->callers[n].hold, w->now) > 0;
}

static void play_event(world *w, bwl_local_waiter_id n, bwl_event ev)
{
    bwl_effects fx;

    bwl_no_effects(&fx);
    ev.now = w->now;
    bwl_hold_event(&w->callers[n].hold, &ev, &fx);
    after(w, n, &fx);
}

/* The caller has the lock now, and did not have it before. */
static void start_handoff(world *w, bwl_local_waiter_id n)
{
    const bwl_hold *hold = &w->callers[n].hold;

    for (bwl_local_waiter_id i = 1; i <= CALLERS; i++)
        if (i != n && w->waiters[i].state == BWL_LOCAL_WAITER_WAITING &&
            w->callers[i].arrival < w->callers[n].arrival)
            breaks(FIRST);
    if (hold->fence <= w->fence || hold->fence >= (w->given + 1) * FENCES)
        breaks(FENCE);
    w->fence = hold->fence;
    if (++w->handoffs > handoffs_max && (keep_ms == 0 || w->is_wanted))
        breaks(HANDOFFS);
    if (!w->is_fresh && hold->until - w->now < LEASE_MS / 2)
        breaks(TIME);
    if (w->was_empty && !w->is_confirmed)
        breaks(KEPT);
    w->is_fresh = false;
}

static void after(world *w, bwl_local_waiter_id n, const bwl_effects *fx)
{
    caller *c = &w->callers[n];

    if (fx->wake_at != 0)
        c->wake_at = fx->wake_at;
    if (bwl_hold_is_held(&c->hold) && !c->was_held)
        start_handoff(w, n);
    c->was_held = bwl_hold_is_held(&c->hold);
    for (unsigned i = 0; i < fx->send_count; i++) {
        const bwl_send *send = &fx->sends[i];
        switch ((bwl_waiter_command)send->command) {
        case WAITER_ENQUEUE:
            c->arrival = ++w->arrivals;
            bwl_group_enqueue(&w->group, w->waiters, n, send->tag, c->hold.request.lease_ms);
            break;
        case WAITER_EXTEND:
            bwl_group_extend(&w->group, w->waiters, n, send->tag, c->hold.request.lease_ms);
            break;
        case WAITER_LEAVE: bwl_group_leave(&w->group, w->waiters, n, send->tag); break;
        }
    }
    if (c->hold.state == BWL_HOLD_OVER)
        c->is_running = false;
}

/* ---- the store, as the group commands it ----------------------------------------------------- */

static void demand(bool holds)
{
    if (!holds)
        breaks(ACTION);
}

static void store_result(world *w, bwl_outcome_kind kind)
{
    bwl_outcome out = { .kind = kind, .until = w->until, .fence = w->given * FENCES };

    w->requested = NOTHING;
    if (kind != BWL_HELD && kind != BWL_UNKNOWN)
        w->is_held = false;
    bwl_group_on_store_result(&w->group, w->waiters, &out, w->now);
}

static void give(world *w)
{
    w->given++;
    w->handoffs     = 0;
    w->is_held      = true;
    w->is_fresh     = true;
    w->is_watched   = false;
    w->is_confirmed = false;
    w->was_empty    = false;
    w->granted_at   = w->now;
    w->until        = w->now + LEASE_MS;
}

static void carry_out(world *w, const bwl_group_action *action)
{
    switch (action->kind) {
    case BWL_ACTION_COMPLETE: play_event(w, action->waiter, bwl_group_action_event(action)); return;
    case BWL_ACTION_ACQUIRE:
        demand(!w->is_held && w->requested == NOTHING);
        w->requested = ACQUIRE;
        w->is_wanted = false;
        return;
    case BWL_ACTION_EXTEND:
        demand(w->is_held && w->requested == NOTHING);
        w->requested = EXTEND;
        if (w->now >= w->until)
            store_result(w, BWL_LOST);
        return;
    case BWL_ACTION_YIELD:
        demand(w->is_held && w->requested == NOTHING && w->now < w->until);
        w->is_held   = false;
        w->requested = YIELD;
        w->is_wanted = false;
        return;
    case BWL_ACTION_RELEASE:
        demand(w->is_held && (w->requested == NOTHING || w->requested == EXTEND));
        w->is_held   = false;
        w->requested = RELEASE;
        if (w->now >= w->until)
            store_result(w, BWL_LOST);
        return;
    case BWL_ACTION_CANCEL:
        demand(!w->is_held && (w->requested == ACQUIRE || w->requested == YIELD));
        w->requested = NOTHING;
        return;
    case BWL_ACTION_WATCH:
        demand(w->is_held && !w->is_watched);
        w->is_watched = true;
        return;
    }
}

static void run(world *w)
{
    bwl_group_action action;
    unsigned         actions = 0;

    while (broken == 0 && bwl_group_next_action(&w->group, w->waiters, w->now, &action)) {
        carry_out(w, &action);
        if (++actions > ACTIONS_MAX)
            breaks(PROGRESS);
    }
}

/* ---- the invariants -------------------------------------------------------------------------- */

static void look(world *w)
{
    unsigned who_believe = 0, who_wait = 0, who_run = 0;

    for (bwl_local_waiter_id n = 1; n <= CALLERS; n++) {
        who_run += w->callers[n].is_running ? 1 : 0;
        who_wait += w->waiters[n].state == BWL_LOCAL_WAITER_WAITING ? 1 : 0;
        if (!w->callers[n].is_running || !believes(w, n))
            continue;
        who_believe++;
        if (!w->is_held || w->callers[n].hold.until > w->until)
            breaks(TRUE_);
    }
    if (who_believe > 1)
        breaks(ONE);
    bool is_asked = w->is_watched && !w->is_confirmed && !w->is_wanted;
    if (who_wait > 0 && w->requested == NOTHING && w->group.active == 0 && !is_asked)
        breaks(PROGRESS);
    if (w->is_held && who_wait == 0 && w->group.active == 0)
        w->was_empty = true;
    if (who_run > 0 || w->requested != NOTHING || is_asked)
        return;
    if (w->is_held ? keep_ms == 0 : !bwl_group_is_over(&w->group))
        breaks(CLEAN);
    if (w->is_held && (!w->is_confirmed || w->is_wanted ||
                       bwl_group_wake_at(&w->group) > w->granted_at + keep_ms))
        breaks(KEPT);
}
