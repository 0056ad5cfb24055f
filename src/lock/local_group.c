/*
 * local_group.c -- see local_group.h.
 */
#include "lock/local_group.h"

enum { NOBODY = 0, WORTH_HALF = 2 /* the part of his lease that a turn has at least */ };

void bwl_group_init(bwl_group *c, unsigned handoffs_max, bwl_ms handoffs_ms)
{
    assert(handoffs_max >= 1 && handoffs_max <= BWL_HANDOFFS_MAX);
    assert(handoffs_ms > 0);
    *c = (bwl_group){ .handoffs_max = handoffs_max, .handoffs_ms = handoffs_ms };
}

/* ---- what is to be told ---------------------------------------------------------------------- */

/* Instead of what was to be told to him before. */
static void complete(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n,
                     bwl_outcome out)
{
    bool is_listed = waiters[n].result.kind != BWL_PENDING;

    assert(n != NOBODY && out.kind != BWL_PENDING);
    waiters[n].result = out;
    if (is_listed)
        return;
    waiters[n].next_result = NOBODY;
    if (c->last_result != NOBODY)
        waiters[c->last_result].next_result = n;
    else
        c->first_result = n;
    c->last_result = n;
}

static bwl_group_action take_result(bwl_group *c, bwl_local_waiter *waiters)
{
    bwl_local_waiter_id n      = c->first_result;
    bwl_group_action    action = { .kind    = BWL_ACTION_COMPLETE,
                                   .waiter  = n,
                                   .tag     = waiters[n].tag,
                                   .outcome = waiters[n].result };

    c->first_result = waiters[n].next_result;
    if (c->first_result == NOBODY)
        c->last_result = NOBODY;
    waiters[n].next_result = NOBODY;
    waiters[n].result      = (bwl_outcome){ .kind = BWL_PENDING };
    waiters[n].tag         = 0;
    return action;
}

/* ---- the line -------------------------------------------------------------------------------- */

static void enqueue(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n)
{
    waiters[n].next     = NOBODY;
    waiters[n].previous = c->last;
    if (c->last != NOBODY)
        waiters[c->last].next = n;
    else
        c->first = n;
    c->last = n;
}

static void dequeue(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n)
{
    bwl_local_waiter *s = &waiters[n];

    assert(s->state == BWL_LOCAL_WAITER_WAITING);
    if (s->previous != NOBODY)
        waiters[s->previous].next = s->next;
    else
        c->first = s->next;
    if (s->next != NOBODY)
        waiters[s->next].previous = s->previous;
    else
        c->last = s->previous;
    s->next     = NOBODY;
    s->previous = NOBODY;
}

static void end_waiter(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n,
                       bwl_outcome_kind kind)
{
    waiters[n].state = BWL_LOCAL_WAITER_EMPTY;
    complete(c, waiters, n, (bwl_outcome){ .kind = kind });
}

static void end_all(bwl_group *c, bwl_local_waiter *waiters, bwl_outcome_kind kind)
{
    while (c->first != NOBODY) {
        bwl_local_waiter_id n = c->first;
        dequeue(c, waiters, n);
        end_waiter(c, waiters, n, kind);
    }
}

/* ---- from above ------------------------------------------------------------------------------ */

void bwl_group_enqueue(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                       bwl_ms lease_ms)
{
    assert(n != NOBODY && waiters[n].state == BWL_LOCAL_WAITER_EMPTY);
    assert(tag != 0 && lease_ms > 0);
    waiters[n].state    = BWL_LOCAL_WAITER_WAITING;
    waiters[n].tag      = tag;
    waiters[n].lease_ms = lease_ms;
    enqueue(c, waiters, n);
    complete(c, waiters, n, (bwl_outcome){ .kind = BWL_QUEUED });
}

void bwl_group_extend(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag,
                      bwl_ms lease_ms)
{
    assert(n != NOBODY && tag != 0);
    waiters[n].tag = tag;
    if (waiters[n].state != BWL_LOCAL_WAITER_ACTIVE) {
        complete(c, waiters, n, (bwl_outcome){ .kind = BWL_LOST });
        return;
    }
    assert(c->active == n);
    waiters[n].lease_ms = lease_ms;
    c->extending        = n;
}

void bwl_group_leave(bwl_group *c, bwl_local_waiter *waiters, bwl_local_waiter_id n, uint32_t tag)
{
    assert(n != NOBODY && tag != 0);
    waiters[n].tag = tag;
    if (c->extending == n)
        c->extending = NOBODY;
    switch (waiters[n].state) {
    case BWL_LOCAL_WAITER_WAITING:
        dequeue(c, waiters, n);
        end_waiter(c, waiters, n, BWL_RELEASED);
        return;
    case BWL_LOCAL_WAITER_ACTIVE:
        assert(c->active == n && c->leaver == NOBODY);
        c->active        = NOBODY;
        c->leaver        = n;
        waiters[n].state = BWL_LOCAL_WAITER_LEAVING;
        return;
    case BWL_LOCAL_WAITER_LEAVING: return; /* he will hear */
    case BWL_LOCAL_WAITER_EMPTY: complete(c, waiters, n, (bwl_outcome){ .kind = BWL_LOST }); return;
    }
}

/* ---- from below ------------------------------------------------------------------------------ */

static void end_leaver(bwl_group *c, bwl_local_waiter *waiters, bwl_outcome_kind kind)
{
    if (c->leaver != NOBODY)
        end_waiter(c, waiters, c->leaver, kind);
    c->leaver = NOBODY;
}

static void lost(bwl_group *c, bwl_local_waiter *waiters)
{
    c->state = BWL_GROUP_NONE;
    end_leaver(c, waiters, BWL_LOST);
    if (c->active != NOBODY)
        end_waiter(c, waiters, c->active, BWL_LOST);
    c->active    = NOBODY;
    c->extending = NOBODY;
}

static void given(bwl_group *c, const bwl_outcome *out, bwl_ms now)
{
    c->state            = BWL_GROUP_HELD;
    c->given_at         = now;
    c->handoffs         = 0;
    c->is_fresh         = true;
    c->extension_failed = false;
    c->until            = out->until;
    c->fence            = out->fence;
    c->last_error       = BWL_PENDING;
}

static void extended(bwl_group *c, bwl_local_waiter *waiters, const bwl_outcome *out)
{
    c->state = BWL_GROUP_HELD;
    if (out->kind == BWL_HELD) {
        c->is_fresh         = true;
        c->extension_failed = false;
        c->until            = out->until;
    } else {
        c->extension_failed = true;
    }
    if (c->extending == NOBODY)
        return;
    assert(c->extending == c->active);
    bwl_outcome his = { .kind = out->kind, .until = c->until, .fence = c->fence + c->handoffs - 1 };
    complete(c, waiters, c->extending, his);
    c->reported_until = c->until;
    c->extending      = NOBODY;
}

void bwl_group_on_store_result(bwl_group *c, bwl_local_waiter *waiters, const bwl_outcome *out,
                               bwl_ms now)
{
    switch (c->state) {
    case BWL_GROUP_ACQUIRING:
        if (out->kind == BWL_HELD) {
            given(c, out, now);
            return;
        }
        c->state = BWL_GROUP_NONE; /* LOST: while it was yielded; it is sought again */
        if (out->kind != BWL_LOST)
            end_all(c, waiters, out->kind);
        return;
    case BWL_GROUP_HELD:
        if (out->kind == BWL_LOST)
            lost(c, waiters);
        return;
    case BWL_GROUP_EXTENDING:
        if (out->kind == BWL_LOST)
            lost(c, waiters);
        else
            extended(c, waiters, out);
        return;
    case BWL_GROUP_RELEASING:
        c->state = BWL_GROUP_NONE;
        end_leaver(c, waiters, out->kind);
        return;
    case BWL_GROUP_NONE: return; /* about one that is not wanted any more */
    }
}

void bwl_group_on_store_status(bwl_group *c, bwl_ms until, bwl_outcome_kind last_error)
{
    if (c->state != BWL_GROUP_HELD && c->state != BWL_GROUP_EXTENDING)
        return;
    if (until > c->until)
        c->until = until;
    c->last_error = last_error;
}

/* ---- what is to be done ---------------------------------------------------------------------- */

static bwl_group_action send_to_store(bwl_group *c, bwl_group_state next,
                                      bwl_group_action_kind kind, bwl_ms lease_ms)
{
    c->state = next;
    if (lease_ms != 0)
        c->lease_ms = lease_ms;
    return (bwl_group_action){ .kind = kind, .lease_ms = lease_ms };
}

static bwl_group_action give_back(bwl_group *c)
{
    return send_to_store(c, BWL_GROUP_RELEASING, BWL_ACTION_RELEASE, 0);
}

/* Who has his turn learns what the store's hold says by itself: not while he waits for an answer,
 * which says it too. */
static bool has_news(bwl_group *c, const bwl_local_waiter *waiters, bwl_group_action *ret_action)
{
    bwl_local_waiter_id n   = c->active;
    bwl_outcome         out = { .kind = BWL_PENDING };

    if (n == NOBODY || waiters[n].tag != 0)
        return false;
    if (c->until > c->reported_until) {
        out               = (bwl_outcome){ BWL_HELD, c->until, c->fence + c->handoffs - 1, 0 };
        c->reported_until = c->until;
        c->reported_error = BWL_PENDING;
    } else if (c->last_error != c->reported_error) {
        out.kind          = c->last_error;
        c->reported_error = c->last_error;
    }
    *ret_action = (bwl_group_action){ .kind = BWL_ACTION_COMPLETE, .waiter = n, .outcome = out };
    return out.kind != BWL_PENDING;
}

static void hand_off(bwl_group *c, bwl_local_waiter *waiters)
{
    bwl_local_waiter_id n = c->first;

    assert(c->active == NOBODY);
    assert(c->handoffs < c->handoffs_max);
    dequeue(c, waiters, n);
    waiters[n].state    = BWL_LOCAL_WAITER_ACTIVE;
    c->active           = n;
    c->is_fresh         = false;
    c->extension_failed = false;
    c->reported_until   = c->until;
    c->reported_error   = BWL_PENDING;
    complete(c, waiters, n, (bwl_outcome){ BWL_HELD, c->until, c->fence + c->handoffs, 0 });
    c->handoffs++;
}

static bool is_enough(const bwl_group *c, const bwl_local_waiter *s, bwl_ms now)
{
    bwl_ms left_ms = c->until > now ? c->until - now : 0;

    return s->lease_ms == c->lease_ms && left_ms > 0 &&
           (c->is_fresh || left_ms >= s->lease_ms / WORTH_HALF);
}

static bool others_come(const bwl_group *c, bwl_ms now)
{
    return c->handoffs >= c->handoffs_max ||
           (c->handoffs > 0 && now >= bwl_ms_add(c->given_at, c->handoffs_ms));
}

/* It is ours, and nobody's turn. */
static bwl_group_action between_handoffs(bwl_group *c, bwl_local_waiter *waiters, bwl_ms now)
{
    bwl_local_waiter *next = &waiters[c->first];

    if (c->first == NOBODY)
        return give_back(c);
    if (now < c->until && others_come(c, now))
        return send_to_store(c, BWL_GROUP_ACQUIRING, BWL_ACTION_YIELD, 0);
    if (!is_enough(c, next, now))
        return c->extension_failed
                   ? give_back(c)
                   : send_to_store(c, BWL_GROUP_EXTENDING, BWL_ACTION_EXTEND, next->lease_ms);
    hand_off(c, waiters);
    return take_result(c, waiters);
}

static bool ours(bwl_group *c, bwl_local_waiter *waiters, bwl_ms now, bwl_group_action *ret_action)
{
    if (c->active == NOBODY)
        *ret_action = between_handoffs(c, waiters, now);
    else if (c->extending != NOBODY)
        *ret_action = send_to_store(c, BWL_GROUP_EXTENDING, BWL_ACTION_EXTEND,
                                    waiters[c->extending].lease_ms);
    else
        return has_news(c, waiters, ret_action);
    return true;
}

/* Somebody sits here who may have it next: the store need not be asked. */
static bool passes_on(const bwl_group *c)
{
    return c->leaver != NOBODY && c->first != NOBODY &&
           (c->state == BWL_GROUP_HELD || c->state == BWL_GROUP_EXTENDING);
}

bool bwl_group_next_action(bwl_group *c, bwl_local_waiter *waiters, bwl_ms now,
                           bwl_group_action *ret_action)
{
    bool nobody_sits = c->first == NOBODY && c->active == NOBODY;

    if (passes_on(c))
        end_leaver(c, waiters, BWL_RELEASED);
    if (c->first_result != NOBODY) {
        *ret_action = take_result(c, waiters);
        return true;
    }
    switch (c->state) {
    case BWL_GROUP_NONE:
        if (nobody_sits)
            return false;
        *ret_action =
            send_to_store(c, BWL_GROUP_ACQUIRING, BWL_ACTION_ACQUIRE, waiters[c->first].lease_ms);
        return true;
    case BWL_GROUP_ACQUIRING:
        if (!nobody_sits)
            return false;
        *ret_action = send_to_store(c, BWL_GROUP_NONE, BWL_ACTION_CANCEL, 0);
        return true;
    case BWL_GROUP_HELD: return ours(c, waiters, now, ret_action);
    case BWL_GROUP_EXTENDING:
        if (!nobody_sits)
            return has_news(c, waiters, ret_action);
        *ret_action = give_back(c);
        return true;
    case BWL_GROUP_RELEASING: return false;
    }
    bwl_unreachable("a state outside of its enum");
}

bool bwl_group_is_over(const bwl_group *c)
{
    return c->state == BWL_GROUP_NONE && c->first == NOBODY && c->active == NOBODY &&
           c->leaver == NOBODY && c->first_result == NOBODY;
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
