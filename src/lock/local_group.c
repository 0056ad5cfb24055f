/*
 * local_group.c -- see local_group.h.
 */
#include "lock/local_group.h"

enum {
    NO_WAITER   = 0,
    LEASE_PARTS = 2, /* a waiter gets the lock with at least this part of its lease left */
};

void bwl_group_init(bwl_group *g, unsigned handoffs_max, bwl_ms handoffs_ms, bwl_ms keep_ms)
{
    assert(handoffs_max >= 1 && handoffs_max <= BWL_HANDOFFS_MAX);
    assert(handoffs_ms > 0 && keep_ms >= 0);
    *g =
        (bwl_group){ .handoffs_max = handoffs_max, .handoffs_ms = handoffs_ms, .keep_ms = keep_ms };
}

/* ---- results --------------------------------------------------------------------------------- */

/* Sets the result of a waiter; replaces one that is not reported yet. */
static void complete(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n,
                     bwl_outcome out)
{
    assert(n != NO_WAITER);
    assert(out.kind != BWL_PENDING);
    bool is_listed    = waiters[n].result.kind != BWL_PENDING;
    waiters[n].result = out;
    if (is_listed)
        return;
    waiters[n].next_result = NO_WAITER;
    if (g->last_result != NO_WAITER)
        waiters[g->last_result].next_result = n;
    else
        g->first_result = n;
    g->last_result = n;
}

static bwl_group_action take_result(bwl_group *g, bwl_local_waiter *waiters)
{
    bwl_local_waiter_id n      = g->first_result;
    bwl_group_action    action = { .kind    = BWL_ACTION_COMPLETE,
                                   .waiter  = n,
                                   .tag     = waiters[n].tag,
                                   .outcome = waiters[n].result };

    g->first_result = waiters[n].next_result;
    if (g->first_result == NO_WAITER)
        g->last_result = NO_WAITER;
    waiters[n].next_result = NO_WAITER;
    waiters[n].result      = (bwl_outcome){ .kind = BWL_PENDING };
    waiters[n].tag         = 0;
    return action;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void enqueue(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n)
{
    waiters[n].next     = NO_WAITER;
    waiters[n].previous = g->last;
    if (g->last != NO_WAITER)
        waiters[g->last].next = n;
    else
        g->first = n;
    g->last = n;
}

static void dequeue(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n)
{
    bwl_local_waiter *w = &waiters[n];

    assert(w->state == BWL_LOCAL_WAITER_WAITING);
    if (w->previous != NO_WAITER)
        waiters[w->previous].next = w->next;
    else
        g->first = w->next;
    if (w->next != NO_WAITER)
        waiters[w->next].previous = w->previous;
    else
        g->last = w->previous;
    w->next     = NO_WAITER;
    w->previous = NO_WAITER;
}

static void end_waiter(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n,
                       bwl_outcome_kind kind)
{
    waiters[n].state = BWL_LOCAL_WAITER_EMPTY;
    complete(g, waiters, n, (bwl_outcome){ .kind = kind });
}

static void end_all(bwl_group *g, bwl_local_waiter *waiters, bwl_outcome_kind kind)
{
    while (g->first != NO_WAITER) {
        bwl_local_waiter_id n = g->first;
        dequeue(g, waiters, n);
        end_waiter(g, waiters, n, kind);
    }
}

/* ---- from above ------------------------------------------------------------------------------ */

void bwl_group_enqueue(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                       bwl_ms lease_ms)
{
    assert(n != NO_WAITER && waiters[n].state == BWL_LOCAL_WAITER_EMPTY);
    assert(tag != 0 && lease_ms > 0);
    waiters[n].state    = BWL_LOCAL_WAITER_WAITING;
    waiters[n].tag      = tag;
    waiters[n].lease_ms = lease_ms;
    enqueue(g, waiters, n);
    complete(g, waiters, n, (bwl_outcome){ .kind = BWL_QUEUED });
}

void bwl_group_extend(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                      bwl_ms lease_ms)
{
    assert(n != NO_WAITER && tag != 0);
    waiters[n].tag = tag;
    if (waiters[n].state != BWL_LOCAL_WAITER_ACTIVE) {
        complete(g, waiters, n, (bwl_outcome){ .kind = BWL_LOST });
        return;
    }
    assert(g->active == n);
    waiters[n].lease_ms = lease_ms;
    g->extending        = n;
}

void bwl_group_leave(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag)
{
    assert(n != NO_WAITER && tag != 0);
    waiters[n].tag = tag;
    if (g->extending == n)
        g->extending = NO_WAITER;
    switch (waiters[n].state) {
    case BWL_LOCAL_WAITER_WAITING:
        dequeue(g, waiters, n);
        end_waiter(g, waiters, n, BWL_RELEASED);
        return;
    case BWL_LOCAL_WAITER_ACTIVE:
        assert(g->active == n && g->leaver == NO_WAITER);
        g->active        = NO_WAITER;
        g->leaver        = n;
        waiters[n].state = BWL_LOCAL_WAITER_LEAVING;
        return;
    case BWL_LOCAL_WAITER_LEAVING: return; /* the release is in flight */
    case BWL_LOCAL_WAITER_EMPTY: complete(g, waiters, n, (bwl_outcome){ .kind = BWL_LOST }); return;
    }
}

void bwl_group_give_up(bwl_group *g, bwl_local_waiter *waiters, bwl_local_waiter_id n)
{
    assert(g->active == n && g->first_result == NO_WAITER);
    assert(g->state == BWL_GROUP_HELD || g->state == BWL_GROUP_EXTENDING);
    g->active        = NO_WAITER;
    g->extending     = NO_WAITER;
    g->state         = BWL_GROUP_NONE;
    waiters[n].state = BWL_LOCAL_WAITER_EMPTY;
    waiters[n].tag   = 0;
}

/* ---- from below ------------------------------------------------------------------------------ */

static void end_leaver(bwl_group *g, bwl_local_waiter *waiters, bwl_outcome_kind kind)
{
    if (g->leaver != NO_WAITER)
        end_waiter(g, waiters, g->leaver, kind);
    g->leaver = NO_WAITER;
}

static void lost(bwl_group *g, bwl_local_waiter *waiters)
{
    g->state = BWL_GROUP_NONE;
    end_leaver(g, waiters, BWL_LOST);
    if (g->active != NO_WAITER)
        end_waiter(g, waiters, g->active, BWL_LOST);
    g->active    = NO_WAITER;
    g->extending = NO_WAITER;
}

static void granted(bwl_group *g, const bwl_outcome *out, bwl_ms now)
{
    g->state            = BWL_GROUP_HELD;
    g->granted_at       = now;
    g->handoffs         = 0;
    g->is_fresh         = true;
    g->extension_failed = false;
    g->until            = out->until;
    g->fence            = out->fence;
    g->last_error       = BWL_PENDING;
}

static void extended(bwl_group *g, bwl_local_waiter *waiters, const bwl_outcome *out)
{
    g->state = BWL_GROUP_HELD;
    if (out->kind == BWL_HELD) {
        g->is_fresh         = true;
        g->extension_failed = false;
        g->until            = out->until;
    } else {
        g->extension_failed = true;
    }
    if (g->extending == NO_WAITER)
        return;
    assert(g->extending == g->active);
    complete(
        g, waiters, g->extending,
        (bwl_outcome){ .kind = out->kind, .until = g->until, .fence = g->fence + g->handoffs - 1 });
    g->reported_until = g->until;
    g->extending      = NO_WAITER;
}

void bwl_group_on_store_result(bwl_group *g, bwl_local_waiter *waiters, const bwl_outcome *out,
                               bwl_ms now)
{
    switch (g->state) {
    case BWL_GROUP_ACQUIRING:
        if (out->kind == BWL_HELD) {
            granted(g, out, now);
            return;
        }
        g->state = BWL_GROUP_NONE; /* LOST: not held at the yield; a new acquire follows */
        if (out->kind != BWL_LOST)
            end_all(g, waiters, out->kind);
        return;
    case BWL_GROUP_HELD:
        if (out->kind == BWL_LOST)
            lost(g, waiters);
        return;
    case BWL_GROUP_EXTENDING:
        if (out->kind == BWL_LOST)
            lost(g, waiters);
        else
            extended(g, waiters, out);
        return;
    case BWL_GROUP_RELEASING:
        g->state = BWL_GROUP_NONE;
        end_leaver(g, waiters, out->kind);
        return;
    case BWL_GROUP_NONE: return; /* of a store hold that was cancelled */
    }
}

void bwl_group_on_store_status(bwl_group *g, bwl_ms until, bwl_outcome_kind last_error)
{
    if (g->state != BWL_GROUP_HELD && g->state != BWL_GROUP_EXTENDING)
        return;
    if (until > g->until)
        g->until = until;
    g->last_error = last_error;
}

/* The fence of a hold that came from another client may be that of a handoff. */
void bwl_group_take_over(bwl_group *g, bwl_ms until, uint64_t fence, bwl_ms lease_ms, bwl_ms now)
{
    uint64_t handoff = fence % BWL_HANDOFFS_MAX;

    assert(g->state == BWL_GROUP_NONE);
    granted(g, &(bwl_outcome){ BWL_HELD, until, fence - handoff, 0 }, now);
    g->handoffs = (unsigned)handoff + 1;
    g->lease_ms = lease_ms;
    g->is_fresh = false;
    g->watch    = BWL_GROUP_WATCHED;
}

void bwl_group_on_watched(bwl_group *g)
{
    if (g->watch == BWL_GROUP_WATCH_SENT || g->watch == BWL_GROUP_WATCH_AWAITED)
        g->watch = BWL_GROUP_WATCHED;
}

void bwl_group_on_wanted(bwl_group *g)
{
    g->is_wanted = true;
}

/* ---- actions --------------------------------------------------------------------------------- */

static bwl_group_action send_to_store(bwl_group *g, bwl_group_state next,
                                      bwl_group_action_kind kind, bwl_ms lease_ms)
{
    g->state = next;
    if (lease_ms != 0)
        g->lease_ms = lease_ms;
    if (next == BWL_GROUP_ACQUIRING) {
        g->watch     = BWL_GROUP_UNWATCHED;
        g->is_wanted = false;
    }
    return (bwl_group_action){ .kind = kind, .lease_ms = lease_ms };
}

static bwl_group_action release(bwl_group *g)
{
    return send_to_store(g, BWL_GROUP_RELEASING, BWL_ACTION_RELEASE, 0);
}

/* Reports a later end or an error of the store hold to the active waiter.  Not while a command of
 * that waiter is in flight: its result says the same. */
static bool report_status(bwl_group *g, const bwl_local_waiter *waiters,
                          bwl_group_action *ret_action)
{
    bwl_local_waiter_id n   = g->active;
    bwl_outcome         out = { .kind = BWL_PENDING };

    if (n == NO_WAITER || waiters[n].tag != 0)
        return false;
    if (g->until > g->reported_until) {
        out               = (bwl_outcome){ BWL_HELD, g->until, g->fence + g->handoffs - 1, 0 };
        g->reported_until = g->until;
        g->reported_error = BWL_PENDING;
    } else if (g->last_error != g->reported_error) {
        out.kind          = g->last_error;
        g->reported_error = g->last_error;
    }
    *ret_action = (bwl_group_action){ .kind = BWL_ACTION_COMPLETE, .waiter = n, .outcome = out };
    return out.kind != BWL_PENDING;
}

static void hand_off(bwl_group *g, bwl_local_waiter *waiters)
{
    bwl_local_waiter_id n = g->first;

    assert(g->active == NO_WAITER);
    assert(g->handoffs < BWL_HANDOFFS_MAX);
    dequeue(g, waiters, n);
    waiters[n].state    = BWL_LOCAL_WAITER_ACTIVE;
    g->active           = n;
    g->is_fresh         = false;
    g->extension_failed = false;
    g->reported_until   = g->until;
    g->reported_error   = BWL_PENDING;
    complete(g, waiters, n, (bwl_outcome){ BWL_HELD, g->until, g->fence + g->handoffs, 0 });
    g->handoffs++;
}

static bool is_enough(const bwl_group *g, bwl_ms lease_ms, bwl_ms now)
{
    bwl_ms left_ms = g->until > now ? g->until - now : 0;

    return lease_ms == g->lease_ms && left_ms > 0 &&
           (g->is_fresh || left_ms >= lease_ms / LEASE_PARTS);
}

/* True if the store hold may stay with this client without an active waiter. */
static bool is_kept(const bwl_group *g, bwl_ms now)
{
    return !g->is_wanted && !g->extension_failed && now < g->until &&
           now < bwl_ms_add(g->granted_at, g->keep_ms);
}

/* True if other clients must have the lock now. */
static bool must_yield(const bwl_group *g, bwl_ms now)
{
    bool     shares = g->keep_ms == 0 || g->is_wanted;
    unsigned max    = shares ? g->handoffs_max : BWL_HANDOFFS_MAX;
    bwl_ms   time   = shares ? g->handoffs_ms : g->keep_ms;

    return g->handoffs >= max || (g->handoffs > 0 && now >= bwl_ms_add(g->granted_at, time));
}

bool bwl_group_is_ready(const bwl_group *g, bwl_ms lease_ms, bwl_ms now)
{
    return bwl_group_is_idle(g) && g->state == BWL_GROUP_HELD && g->watch == BWL_GROUP_WATCHED &&
           now < g->until && !must_yield(g, now) && is_enough(g, lease_ms, now);
}

/* The store hold is held, and no waiter is active.  False: it is kept. */
static bool between_handoffs(bwl_group *g, bwl_local_waiter *waiters, bwl_ms now,
                             bwl_group_action *ret_action)
{
    bwl_local_waiter *next = &waiters[g->first];

    if (!g->is_wanted && g->watch == BWL_GROUP_WATCH_AWAITED)
        return false;
    if (g->first == NO_WAITER && is_kept(g, now))
        return false;
    if (g->first == NO_WAITER || g->watch == BWL_GROUP_WATCH_AWAITED) {
        *ret_action = release(g);
    } else if (now < g->until && must_yield(g, now)) {
        *ret_action = send_to_store(g, BWL_GROUP_ACQUIRING, BWL_ACTION_YIELD, 0);
    } else if (is_enough(g, next->lease_ms, now)) {
        hand_off(g, waiters);
        *ret_action = take_result(g, waiters);
    } else if (g->extension_failed) {
        *ret_action = release(g);
    } else {
        *ret_action = send_to_store(g, BWL_GROUP_EXTENDING, BWL_ACTION_EXTEND, next->lease_ms);
    }
    return true;
}

/* A waiter that gets the lock now gets it first. */
static bool must_watch(const bwl_group *g, bwl_ms now)
{
    bool has_first_waiter = g->handoffs == 0 && g->first != NO_WAITER;

    return !has_first_waiter && g->watch == BWL_GROUP_UNWATCHED && is_kept(g, now);
}

/* The next action while the store hold is held.  False: there is none. */
static bool held_action(bwl_group *g, bwl_local_waiter *waiters, bwl_ms now,
                        bwl_group_action *ret_action)
{
    if (must_watch(g, now)) {
        g->watch    = BWL_GROUP_WATCH_SENT;
        *ret_action = (bwl_group_action){ .kind = BWL_ACTION_WATCH };
    } else if (g->active == NO_WAITER)
        return between_handoffs(g, waiters, now, ret_action);
    else if (g->extending != NO_WAITER)
        *ret_action = send_to_store(g, BWL_GROUP_EXTENDING, BWL_ACTION_EXTEND,
                                    waiters[g->extending].lease_ms);
    else
        return report_status(g, waiters, ret_action);
    return true;
}

/* True if the leaver needs no release in the store: another waiter gets the lock, or the group
 * keeps it. */
static bool has_left(const bwl_group *g, bwl_ms now)
{
    bool is_watched = g->watch == BWL_GROUP_WATCHED && is_kept(g, now);

    return g->leaver != NO_WAITER && g->watch != BWL_GROUP_WATCH_AWAITED &&
           (g->first != NO_WAITER || is_watched) &&
           (g->state == BWL_GROUP_HELD || g->state == BWL_GROUP_EXTENDING);
}

bool bwl_group_next_action(bwl_group *g, bwl_local_waiter *waiters, bwl_ms now,
                           bwl_group_action *ret_action)
{
    bool is_empty = g->first == NO_WAITER && g->active == NO_WAITER;

    if (is_empty && g->watch == BWL_GROUP_WATCH_SENT && is_kept(g, now))
        g->watch = BWL_GROUP_WATCH_AWAITED;
    if (has_left(g, now))
        end_leaver(g, waiters, BWL_RELEASED);
    if (g->first_result != NO_WAITER) {
        *ret_action = take_result(g, waiters);
        return true;
    }
    switch (g->state) {
    case BWL_GROUP_NONE:
        if (is_empty)
            return false;
        *ret_action =
            send_to_store(g, BWL_GROUP_ACQUIRING, BWL_ACTION_ACQUIRE, waiters[g->first].lease_ms);
        return true;
    case BWL_GROUP_ACQUIRING:
        if (!is_empty)
            return false;
        *ret_action = send_to_store(g, BWL_GROUP_NONE, BWL_ACTION_CANCEL, 0);
        return true;
    case BWL_GROUP_HELD: return held_action(g, waiters, now, ret_action);
    case BWL_GROUP_EXTENDING:
        if (!is_empty || (is_kept(g, now) && g->watch != BWL_GROUP_UNWATCHED))
            return report_status(g, waiters, ret_action);
        *ret_action = release(g);
        return true;
    case BWL_GROUP_RELEASING: return false;
    }
    bwl_unreachable("a state outside of its enum");
}

bool bwl_group_is_idle(const bwl_group *g)
{
    bool is_held = g->state == BWL_GROUP_HELD || g->state == BWL_GROUP_EXTENDING;

    return is_held && g->first == NO_WAITER && g->active == NO_WAITER && g->leaver == NO_WAITER;
}

bwl_ms bwl_group_wake_at(const bwl_group *g)
{
    return bwl_group_is_idle(g) ? bwl_ms_add(g->granted_at, g->keep_ms) : BWL_NEVER;
}

bool bwl_group_is_over(const bwl_group *g)
{
    return g->state == BWL_GROUP_NONE && g->first == NO_WAITER && g->active == NO_WAITER &&
           g->leaver == NO_WAITER && g->first_result == NO_WAITER;
}

bwl_event bwl_group_action_event(const bwl_group_action *action)
{
    const bwl_outcome *out    = &action->outcome;
    bool               is_yes = out->kind == BWL_HELD || out->kind == BWL_RELEASED;

    assert(action->kind == BWL_ACTION_COMPLETE);
    return (bwl_event){
        .kind    = action->tag != 0 ? BWL_REPLY : BWL_PUSH,
        .tag     = action->tag,
        .answer  = is_yes ? BWL_YES : BWL_NO,
        .details = out,
    };
}
