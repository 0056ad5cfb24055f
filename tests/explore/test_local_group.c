/*
 * test_local_group.c -- a local group in every order of events: three holds that use its waiters,
 * and below it a store that replies with any result at any time.
 *
 * The machines are the production code (machine.c, local_waiter.c, local_group.c).  The store
 * follows local_group.h: its hold is granted, extended, refused, lost or silent, and it ends by
 * itself.  A caller may leave with it.  Each event costs a part of a budget: rounds of each caller,
 * cancels, extensions, losses, failed replies, departures, steps of the clock.  The test tries all
 * orders of events, and skips a world that it has seen.
 *
 * Invariants, after every step:
 *
 *      ONE      at most one caller has the result HELD
 *      TRUE     no caller has a later end than the store hold, and no caller holds the lock after
 *               the store hold is lost
 *      FIRST    the waiter that gets the lock entered the group before all others that wait
 *      FENCE    it increases with each handoff, and stays below the store's next fence
 *      HANDOFFS at most handoffs_max handoffs for one grant of the store
 *      TIME     a waiter gets the lock with half of its lease, or right after a grant or extension
 *      ACTION   only actions that the state of the store hold allows
 *      PROGRESS if there is a waiter, an action is in flight or a caller holds the lock
 *      CLEAN    when all have left, nothing is held, in flight or unreported; or the group keeps
 *               the store hold
 *      KEPT     the store hold is kept only if the store has answered that it notifies of other
 *               clients, while none wants it, and until keep_ms after the grant; and no caller that
 *               comes to an empty group gets the lock before that answer
 *
 * tests/mutants.txt plants faults in the group; each must break an invariant.
 */
#include "tests/lib/suite.h"

#include "local_group_world.h"
#include "lock/pass_on.h"
#include "protocol/local_lock.h"

/* ---- events ---------------------------------------------------------------------------------- */

typedef enum transition_kind {
    START = 1,
    LET_GO,
    CANCEL,
    LENGTHEN,
    ALARM,
    ANSWER,
    FAIL,
    LOSE,
    RENEW,
    TICK,
    WANT,
    CONFIRM,
    DEPART
} transition_kind;

typedef struct transition {
    uint8_t kind;
    uint8_t who;
} transition;

static bool is_due(const world *w)
{
    bool store_is = (w->is_held && w->now >= w->until) || bwl_group_wake_at(&w->group) <= w->now;

    for (bwl_local_waiter_id n = 1; n <= CALLERS; n++)
        store_is |= w->callers[n].is_running && w->callers[n].wake_at <= w->now;
    return store_is;
}

static unsigned transitions_of_caller(const world *w, bwl_local_waiter_id n, transition *ret_list)
{
    const caller *c     = &w->callers[n];
    unsigned      count = 0;

    if (!c->is_running) {
        if (c->rounds > 0)
            ret_list[count++] = (transition){ START, (uint8_t)n };
        return count;
    }
    if (bwl_hold_is_held(&c->hold))
        ret_list[count++] = (transition){ LET_GO, (uint8_t)n };
    if (bwl_hold_is_held(&c->hold) && w->left.departures > 0)
        ret_list[count++] = (transition){ DEPART, (uint8_t)n };
    if (c->hold.state == BWL_HOLD_HELD && w->left.extends > 0)
        ret_list[count++] = (transition){ LENGTHEN, (uint8_t)n };
    if (bwl_hold_is_acquiring(&c->hold) && w->left.cancels > 0)
        ret_list[count++] = (transition){ CANCEL, (uint8_t)n };
    if (c->wake_at <= w->now)
        ret_list[count++] = (transition){ ALARM, (uint8_t)n };
    return count;
}

static unsigned transitions(const world *w, transition *ret_list)
{
    unsigned count = 0;

    for (bwl_local_waiter_id n = 1; n <= CALLERS; n++)
        count += transitions_of_caller(w, n, ret_list + count);
    if (w->requested != NOTHING)
        ret_list[count++] = (transition){ ANSWER, 0 };
    if (w->requested != NOTHING && w->left.failures > 0)
        ret_list[count++] = (transition){ FAIL, 0 };
    if (w->is_held && (w->left.losses > 0 || w->now >= w->until))
        ret_list[count++] = (transition){ LOSE, 0 };
    if (w->is_held && w->until < w->now + LEASE_MS && w->now < w->until)
        ret_list[count++] = (transition){ RENEW, 0 };
    if (bwl_group_wake_at(&w->group) <= w->now)
        ret_list[count++] = (transition){ ALARM, 0 };
    if (w->left.wants > 0 && (w->is_held || w->requested == ACQUIRE || w->requested == YIELD))
        ret_list[count++] = (transition){ WANT, 0 };
    if (w->is_held && w->is_watched && !w->is_confirmed && !w->is_wanted)
        ret_list[count++] = (transition){ CONFIRM, 0 };
    if (w->left.ticks > 0 && !is_due(w))
        ret_list[count++] = (transition){ TICK, 0 };
    return count;
}

static void answer(world *w)
{
    switch ((request)w->requested) {
    case ACQUIRE:
    case YIELD:
        give(w);
        store_result(w, BWL_HELD);
        return;
    case EXTEND:
        if (w->now >= w->until) {
            store_result(w, BWL_LOST);
            return;
        }
        w->until    = w->now + LEASE_MS;
        w->is_fresh = true;
        store_result(w, BWL_HELD);
        return;
    case RELEASE: store_result(w, BWL_RELEASED); return;
    case NOTHING: return;
    }
}

static void fail_(world *w)
{
    w->left.failures--;
    if (w->requested == ACQUIRE)
        store_result(w, BWL_STORE_REFUSED);
    else if (w->requested == YIELD)
        store_result(w, BWL_LOST);
    else
        store_result(w, BWL_UNKNOWN);
}

static void start(world *w, bwl_local_waiter_id n)
{
    static const bwl_terms terms = { .lease_ms    = LEASE_MS,
                                     .max_hold_ms = BWL_NEVER,
                                     .answer_ms   = 2 * LEASE_MS };
    caller                *c     = &w->callers[n];
    bwl_random             fresh = { 0 };
    bwl_effects            fx;

    bwl_no_effects(&fx);
    c->rounds--;
    c->is_running = true;
    memset(&c->hold, 0, sizeof c->hold);
    bwl_hold_init(&c->hold, &bwl_local_waiter_protocol, 1, &terms);
    bwl_hold_acquire(&c->hold, &fresh, (bwl_moment){ .now = w->now }, w->now + 3 * TICK_MS, &fx);
    after(w, n, &fx);
}

/* The caller takes the store hold with it: to the group it is that of another client, and it gets
 * no result of what is in flight. */
static void depart(world *w, bwl_local_waiter_id n)
{
    caller *c = &w->callers[n];

    w->left.departures--;
    bwl_group_give_up(&w->group, w->waiters, n);
    bwl_hold_give_up(&c->hold);
    c->is_running = false;
    c->was_held   = false;
    w->is_held    = false;
    w->is_watched = false;
    w->requested  = NOTHING;
}

static void perform(world *w, transition what)
{
    bwl_hold   *hold = &w->callers[what.who].hold;
    bwl_effects fx;

    bwl_no_effects(&fx);
    switch ((transition_kind)what.kind) {
    case START: start(w, what.who); break;
    case LET_GO:
        bwl_hold_release(hold, (bwl_moment){ .now = w->now }, &fx);
        after(w, what.who, &fx);
        break;
    case DEPART: depart(w, what.who); break;
    case LENGTHEN:
        w->left.extends--;
        bwl_hold_extend(hold, w->now, LEASE_MS, &fx);
        after(w, what.who, &fx);
        break;
    case CANCEL:
        w->left.cancels--;
        bwl_hold_cancel(hold, w->now, &fx);
        after(w, what.who, &fx);
        break;
    case ALARM:
        if (what.who != 0) /* 0: of the group, which acts below */
            play_event(w, what.who, (bwl_event){ .kind = BWL_ALARM });
        break;
    case ANSWER: answer(w); break;
    case FAIL: fail_(w); break;
    case LOSE:
        if (w->now < w->until)
            w->left.losses--;
        store_result(w, BWL_LOST);
        break;
    case RENEW:
        w->until = w->now + LEASE_MS;
        bwl_group_on_store_status(&w->group, w->until, BWL_PENDING);
        break;
    case TICK:
        w->left.ticks--;
        w->now += TICK_MS;
        break;
    case CONFIRM:
        w->is_confirmed = true;
        bwl_group_on_watched(&w->group);
        break;
    case WANT:
        w->left.wants--;
        w->is_wanted = true;
        bwl_group_on_wanted(&w->group);
        break;
    }
    run(w);
    look(w);
}

/* ---- exploration ----------------------------------------------------------------------------- */

/* FNV-1a of words; a world has only numbers, and its unused parts are 0. */
static uint64_t print_of(const world *w)
{
    const unsigned char *bytes = (const unsigned char *)w;
    uint64_t             print = 1469598103934665603u;

    for (size_t i = 0; i + 8 <= sizeof *w; i += 8) {
        uint64_t command;
        memcpy(&command, bytes + i, 8);
        print = (print ^ command) * 1099511628211u;
        print ^= print >> 29;
    }
    return print == ALWAYS_NEW ? 1 : print;
}

static bool is_new(const world *w)
{
    uint64_t print = print_of(w);
    size_t   mask  = ((size_t)1 << SEEN_BITS) - 1;
    size_t   i     = (size_t)print & mask;

    while (seen[i] != ALWAYS_NEW) {
        if (seen[i] == print)
            return false;
        i = (i + 1) & mask;
    }
    seen[i] = print;
    worlds++;
    assert_true(worlds < mask / 2);
    return true;
}

static void explore(const world *w)
{
    transition list[40];
    unsigned   count;

    if (broken != 0 || !is_new(w))
        return;
    count = transitions(w, list);
    for (unsigned i = 0; i < count && broken == 0; i++) {
        world next = *w;
        perform(&next, list[i]);
        if (broken == 0)
            explore(&next);
    }
}

static unsigned explored(unsigned handoffs, bwl_ms handoffs_ms, bwl_ms keep, budget left)
{
    static world w;

    handoffs_max = handoffs;
    keep_ms      = keep;
    broken       = 0;
    worlds       = 0;
    memset(seen, 0, sizeof *seen << SEEN_BITS);
    memset(&w, 0, sizeof w);
    bwl_group_init(&w.group, handoffs, handoffs_ms, keep);
    w.now  = BEGINNING;
    w.left = left;
    for (bwl_local_waiter_id n = 1; n <= CALLERS; n++) {
        w.callers[n].rounds  = n == CALLERS && left.rounds > 1 ? 1 : left.rounds;
        w.callers[n].wake_at = BWL_NEVER;
    }
    explore(&w);
    print_message("# %zu worlds%s%s\n", worlds, broken != 0 ? ", breaks " : "",
                  broken != 0 ? invariant_names[__builtin_ctz(broken)] : "");
    return broken;
}

static void expect_clean(unsigned handoffs, bwl_ms handoffs_ms, bwl_ms keep, budget left)
{
    unsigned invariants = explored(handoffs, handoffs_ms, keep, left);

    if (invariants != 0)
        fail_msg("breaks %s", invariant_names[__builtin_ctz(invariants)]);
    assert_true(worlds > 1000);
}

TEST(handoffs_between_three_callers)
{
    expect_clean(2, BWL_NEVER, 0, (budget){ .rounds = 2, .ticks = 2 });
}

TEST(callers_that_cancel_and_time_out)
{
    expect_clean(64, BWL_NEVER, 0, (budget){ .rounds = 1, .cancels = 2, .ticks = 4 });
}

TEST(hold_lost_between_and_during_handoffs)
{
    expect_clean(2, BWL_NEVER, 0, (budget){ .rounds = 1, .losses = 2, .cancels = 1, .ticks = 2 });
}

TEST(failed_extensions_of_callers)
{
    expect_clean(64, BWL_NEVER, 0,
                 (budget){ .rounds = 1, .extends = 1, .failures = 2, .ticks = 2 });
}

TEST(handoffs_bounded_by_time)
{
    expect_clean(64, TICK_MS, 0, (budget){ .rounds = 1, .failures = 1, .cancels = 1, .ticks = 4 });
}

TEST(store_hold_kept_until_another_client_wants_it)
{
    expect_clean(2, BWL_NEVER, 2 * TICK_MS, (budget){ .rounds = 2, .wants = 1, .ticks = 3 });
}

TEST(kept_store_hold_is_lost)
{
    expect_clean(2, BWL_NEVER, 4 * TICK_MS,
                 (budget){ .rounds = 1, .wants = 1, .losses = 1, .ticks = 3 });
}

TEST(failed_extensions_of_a_kept_store_hold)
{
    expect_clean(64, TICK_MS, 3 * TICK_MS,
                 (budget){ .rounds = 1, .wants = 1, .extends = 1, .failures = 1, .ticks = 2 });
}

TEST(hold_that_leaves_with_the_store_hold)
{
    expect_clean(2, BWL_NEVER, 0, (budget){ .rounds = 2, .departures = 2, .ticks = 1 });
    expect_clean(64, BWL_NEVER, 0,
                 (budget){ .rounds = 1, .departures = 2, .extends = 1, .failures = 1, .ticks = 2 });
    expect_clean(64, TICK_MS, 3 * TICK_MS,
                 (budget){ .rounds = 2, .departures = 1, .wants = 1, .ticks = 2 });
}

static int take_memory(void **state)
{
    seen = calloc((size_t)1 << SEEN_BITS, sizeof *seen);
    return seen != NULL ? 0 : -1;
}

static int give_memory(void **state)
{
    free(seen);
    return 0;
}

AROUND(take_memory, give_memory)
