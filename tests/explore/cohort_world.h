/*
 * cohort_world.h -- three callers on their seats, the cohort between them, and the store below it:
 * what test_cohort.c explores.  It says there which invariants there are.
 */
#ifndef COHORT_WORLD_H
#define COHORT_WORLD_H

#include "lock/local_group.h"
#include "lock/machine.h"
#include "protocol/protocol.h"
#include "protocol/store/seat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    CALLERS    = 3,
    LEASE_MS   = 1000,
    TICK_MS    = 300, /* three of them are less than a lease, four more                          */
    BEGINNING  = 100000,
    FENCES     = 1024,
    SEEN_BITS  = 23,
    DEEDS_MAX  = 100, /* more in one step, and it would never end                                 */
    ALWAYS_NEW = 0,
};

typedef enum invariant {
    ONE = 1,
    TRUE_,
    FIRST,
    FENCE,
    TURNS,
    TIME,
    DEED,
    GOES_ON,
    CLEAN
} invariant;

static const char *const invariant_names[] = { "",      "ONE",  "TRUE", "FIRST",   "FENCE",
                                               "TURNS", "TIME", "DEED", "GOES_ON", "CLEAN" };

typedef enum fault {
    NO_FAULT = 0,
    HANDS_OVER_WHILE_RELEASING,
    LOOKS_AT_NO_TIME,
    COUNTS_NO_TURNS,
    CANCELS_WHEN_ONE_LEAVES,
    TELLS_NO_LOSS,
    PROMISES_MORE,
    SERVES_THE_LAST,
    NEVER_YIELDS_BACK, /* what it yielded, it takes for its own at once */
    FORGETS_WHO_WAITS,
    LEAVES_IT_BEHIND,
    FAULTS,
} fault;

/* What is asked of the store, and not answered. */
typedef enum question { NOTHING = 0, ACQUIRE, EXTEND, YIELD, RELEASE } question;

typedef struct budget {
    uint8_t rounds; /* of each caller */
    uint8_t cancels;
    uint8_t extends;
    uint8_t losses;
    uint8_t failures;
    uint8_t ticks;
} budget;

typedef struct caller {
    bwl_hold hold;
    bwl_ms   wake_at;
    uint32_t came; /* the how many-eth who sat down; 0: does not sit */
    uint8_t  rounds;
    bool     is_running;
    bool     was_held;
    bool     is_leaving;
} caller;

typedef struct world {
    bwl_cohort cohort;
    bwl_seat   seats[CALLERS + 1];
    caller     callers[CALLERS + 1];
    uint8_t    asked; /* a question */
    bool       is_held;
    bool       is_fresh; /* given or extended since the last turn began */
    bwl_ms     until;
    bwl_ms     now;
    uint64_t   given; /* fences of the store */
    uint64_t   fence; /* the latest of a turn */
    uint32_t   arrivals;
    uint8_t    turns;
    budget     left;
} world;

static fault     planted;
static unsigned  turns_max;
static unsigned  broken; /* invariants, as bits */
static uint64_t *seen;
static size_t    worlds;

static void breaks(invariant which)
{
    broken |= 1u << which;
}

/* ---- the callers ----------------------------------------------------------------------------- */

static void run(world *w);
static void after(world *w, bwl_seat_number n, const bwl_effects *fx);

static bool believes(const world *w, bwl_seat_number n)
{
    return bwl_hold_left(&w->callers[n].hold, w->now) > 0;
}

static void happens(world *w, bwl_seat_number n, bwl_event ev)
{
    bwl_effects fx;

    bwl_no_effects(&fx);
    ev.now = w->now;
    bwl_hold_event(&w->callers[n].hold, &ev, &fx);
    after(w, n, &fx);
}

/* He has it now, and had not. */
static void turn_begins(world *w, bwl_seat_number n)
{
    const bwl_hold *hold = &w->callers[n].hold;

    for (bwl_seat_number i = 1; i <= CALLERS; i++)
        if (i != n && w->seats[i].state == BWL_SEAT_WAITS &&
            w->callers[i].came < w->callers[n].came)
            breaks(FIRST);
    if (hold->fence <= w->fence || hold->fence >= (w->given + 1) * FENCES)
        breaks(FENCE);
    w->fence = hold->fence;
    if (++w->turns > turns_max)
        breaks(TURNS);
    if (!w->is_fresh && hold->until - w->now < LEASE_MS / 2)
        breaks(TIME);
    w->is_fresh = false;
}

static void after(world *w, bwl_seat_number n, const bwl_effects *fx)
{
    caller *c = &w->callers[n];

    if (fx->wake_at != 0)
        c->wake_at = fx->wake_at;
    if (bwl_hold_is_held(&c->hold) && !c->was_held)
        turn_begins(w, n);
    c->was_held = bwl_hold_is_held(&c->hold);
    for (unsigned i = 0; i < fx->asks_count; i++) {
        const bwl_ask *ask = &fx->asks[i];
        switch ((bwl_seat_word)ask->word) {
        case SEAT_SIT:
            c->came = ++w->arrivals;
            bwl_cohort_sit(&w->cohort, w->seats, n, ask->tag, c->hold.claim.lease_ms);
            break;
        case SEAT_EXTEND:
            bwl_cohort_extend(&w->cohort, w->seats, n, ask->tag, c->hold.claim.lease_ms);
            break;
        case SEAT_LEAVE:
            if (planted == CANCELS_WHEN_ONE_LEAVES && w->cohort.state == BWL_COHORT_SEEKING)
                w->cohort.state = BWL_COHORT_NONE;
            bwl_cohort_leave(&w->cohort, w->seats, n, ask->tag);
            break;
        }
    }
    if (c->hold.state == BWL_HOLD_OVER)
        c->is_running = false;
}

/* ---- the store, as the cohort commands it ---------------------------------------------------- */

static void demand(bool holds)
{
    if (!holds)
        breaks(DEED);
}

static void told(world *w, bwl_outcome_kind kind)
{
    bwl_outcome out = { .kind = kind, .until = w->until, .fence = w->given * FENCES };

    w->asked = NOTHING;
    if (kind != BWL_HELD && kind != BWL_UNKNOWN)
        w->is_held = false;
    bwl_cohort_told(&w->cohort, w->seats, &out, w->now);
}

static void give(world *w)
{
    w->given++;
    w->turns    = 0;
    w->is_held  = true;
    w->is_fresh = true;
    w->until    = w->now + LEASE_MS;
}

static void carry_out(world *w, const bwl_deed *deed)
{
    bwl_event ev;

    switch (deed->kind) {
    case BWL_DEED_TELL:
        ev = bwl_deed_event(deed);
        if (planted == TELLS_NO_LOSS && deed->outcome.kind == BWL_LOST && deed->tag == 0)
            return;
        if (planted == PROMISES_MORE && ev.answer == BWL_YES)
            ev.until += TICK_MS;
        happens(w, deed->seat, ev);
        return;
    case BWL_DEED_ACQUIRE:
        demand(!w->is_held && w->asked == NOTHING);
        w->asked = planted == FORGETS_WHO_WAITS && w->given > 0 ? NOTHING : ACQUIRE;
        return;
    case BWL_DEED_EXTEND:
        demand(w->is_held && w->asked == NOTHING);
        w->asked = EXTEND;
        if (w->now >= w->until)
            told(w, BWL_LOST);
        return;
    case BWL_DEED_YIELD:
        demand(w->is_held && w->asked == NOTHING && w->now < w->until);
        w->is_held = false;
        w->asked   = YIELD;
        return;
    case BWL_DEED_RELEASE:
        demand(w->is_held && (w->asked == NOTHING || w->asked == EXTEND));
        if (planted == LEAVES_IT_BEHIND) {
            told(w, BWL_RELEASED);
            w->is_held = true;
            return;
        }
        w->is_held = false;
        w->asked   = RELEASE;
        if (w->now >= w->until)
            told(w, BWL_LOST);
        return;
    case BWL_DEED_CANCEL:
        demand(!w->is_held && (w->asked == ACQUIRE || w->asked == YIELD));
        w->asked = NOTHING;
        return;
    }
}

static void plant(world *w)
{
    bwl_cohort *c = &w->cohort;

    if (planted == HANDS_OVER_WHILE_RELEASING && c->state == BWL_COHORT_RELEASING && c->first != 0)
        c->state = BWL_COHORT_OURS;
    if (planted == LOOKS_AT_NO_TIME)
        c->is_fresh = true;
    if (planted == COUNTS_NO_TURNS && c->turns > 1)
        c->turns = 1;
    if (planted == NEVER_YIELDS_BACK && c->state == BWL_COHORT_SEEKING && w->asked == YIELD)
        c->state = BWL_COHORT_OURS;
    if (planted == SERVES_THE_LAST && c->first != c->last && w->seats[c->first].next == c->last) {
        bwl_seat_number first    = c->first;
        c->first                 = c->last;
        c->last                  = first;
        w->seats[c->first]       = (bwl_seat){ .state    = BWL_SEAT_WAITS,
                                               .next     = c->last,
                                               .tag      = w->seats[c->first].tag,
                                               .tell     = w->seats[c->first].tell,
                                               .lease_ms = LEASE_MS };
        w->seats[first].next     = 0;
        w->seats[first].previous = c->first;
    }
}

static void run(world *w)
{
    bwl_deed deed;
    unsigned deeds = 0;

    plant(w);
    while (broken == 0 && bwl_cohort_next(&w->cohort, w->seats, w->now, &deed)) {
        carry_out(w, &deed);
        if (++deeds > DEEDS_MAX)
            breaks(GOES_ON);
    }
}

/* ---- the invariants -------------------------------------------------------------------------- */

static void look(const world *w)
{
    unsigned who_believe = 0, who_wait = 0, who_run = 0;

    for (bwl_seat_number n = 1; n <= CALLERS; n++) {
        who_run += w->callers[n].is_running ? 1 : 0;
        who_wait += w->seats[n].state == BWL_SEAT_WAITS ? 1 : 0;
        if (!w->callers[n].is_running || !believes(w, n))
            continue;
        who_believe++;
        if (!w->is_held || w->callers[n].hold.until > w->until)
            breaks(TRUE_);
    }
    if (who_believe > 1)
        breaks(ONE);
    if (who_wait > 0 && w->asked == NOTHING && w->cohort.turn_of == 0)
        breaks(GOES_ON);
    if (who_run == 0 && w->asked == NOTHING && (w->is_held || !bwl_cohort_is_over(&w->cohort)))
        breaks(CLEAN);
}

#endif
