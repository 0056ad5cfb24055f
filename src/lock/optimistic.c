/*
 * optimistic.c -- see optimistic.h.
 */
#include "lock/optimistic.h"
#include "lock/backoff.h"

static bwl_optimistic_next want(bwl_optimistic *o, bwl_optimistic_want wanted)
{
    o->wants = wanted;
    return (bwl_optimistic_next){ .want = wanted };
}

static bwl_optimistic_next over(bwl_optimistic *o, bwl_optimistic_end end)
{
    bwl_optimistic_next next = want(o, BWL_WANT_END);

    next.end = end;
    return next;
}

static bwl_optimistic_next leave(bwl_optimistic *o, bwl_optimistic_end end)
{
    o->end = end;
    return want(o, BWL_WANT_LEAVE);
}

static bwl_optimistic_next begin_try(bwl_optimistic *o)
{
    o->tries++;
    return want(o, BWL_WANT_READ);
}

static bool has_tries(const bwl_optimistic *o)
{
    return o->tries_max == 0 || o->tries < o->tries_max;
}

static bwl_optimistic_next pause_first(bwl_optimistic *o, const bwl_event *ev)
{
    bwl_ms length_ms = bwl_backoff_ms(o->pauses, BWL_OPTIMISTIC_PAUSE_MAX_MS, &ev->fresh);

    o->pauses++;
    bwl_optimistic_next next = want(o, BWL_WANT_PAUSE);
    next.at                  = bwl_ms_min(bwl_ms_add(ev->now, length_ms), o->until);
    return next;
}

/* ---- results of a try ------------------------------------------------------------------------ */

static bwl_optimistic_next had_conflict(bwl_optimistic *o, const bwl_event *ev)
{
    o->conflicts++;
    if (!has_tries(o))
        return over(o, BWL_UPDATE_CONFLICTS);
    if (ev->now >= o->until)
        return over(o, BWL_UPDATE_TIME_UP);
    return o->conflicts == 1 ? begin_try(o) : pause_first(o, ev);
}

static bwl_optimistic_next not_now(bwl_optimistic *o, const bwl_event *ev)
{
    if (!has_tries(o) || ev->now >= o->until)
        return over(o, BWL_UPDATE_NOT_NOW);
    return pause_first(o, ev);
}

/* The connection ended.  No pause here: connecting has its own. */
static bwl_optimistic_next disconnected(bwl_optimistic *o, const bwl_event *ev)
{
    o->breaks++;
    if (o->breaks > BWL_OPTIMISTIC_BREAKS_MAX || !has_tries(o) || ev->now >= o->until)
        return over(o, BWL_UPDATE_UNREACHABLE);
    return begin_try(o);
}

static bwl_optimistic_next was_read(bwl_optimistic *o, const bwl_event *ev)
{
    if (ev->kind == BWL_DOWN)
        return disconnected(o, ev);
    switch (ev->answer) {
    case BWL_YES: return want(o, BWL_WANT_COMPUTE);
    case BWL_FOREIGN_VALUE: return leave(o, BWL_UPDATE_FOREIGN_VALUE);
    case BWL_RETRYABLE: return not_now(o, ev);
    case BWL_REFUSED: return over(o, BWL_UPDATE_REFUSED);
    case BWL_NOT_SENT: return disconnected(o, ev);
    case BWL_NO: break;
    }
    bwl_unreachable("not a reply to a read");
}

static bwl_optimistic_next was_written(bwl_optimistic *o, const bwl_event *ev)
{
    if (ev->kind == BWL_DOWN)
        return over(o, BWL_UPDATE_UNKNOWN);
    switch (ev->answer) {
    case BWL_YES: return over(o, BWL_UPDATE_WRITTEN);
    case BWL_NO: return had_conflict(o, ev);
    case BWL_RETRYABLE: return not_now(o, ev);
    case BWL_REFUSED: return over(o, BWL_UPDATE_REFUSED);
    case BWL_NOT_SENT: return disconnected(o, ev);
    case BWL_FOREIGN_VALUE: break;
    }
    bwl_unreachable("not a reply to a write");
}

/* ---- the machine ----------------------------------------------------------------------------- */

bwl_optimistic_next bwl_optimistic_begin(bwl_optimistic *o, uint32_t tries_max, bwl_ms until)
{
    *o = (bwl_optimistic){ .tries_max = tries_max, .until = until };
    return begin_try(o);
}

bwl_optimistic_next bwl_optimistic_computed(bwl_optimistic *o, bwl_optimistic_choice choice)
{
    assert(o->wants == BWL_WANT_COMPUTE);
    switch (choice) {
    case BWL_CHOICE_WRITE: return want(o, BWL_WANT_WRITE);
    case BWL_CHOICE_LEAVE: return leave(o, BWL_UPDATE_LEFT);
    case BWL_CHOICE_STOP: return leave(o, BWL_UPDATE_STOPPED);
    }
    bwl_unreachable("a choice outside of its enum");
}

bwl_optimistic_next bwl_optimistic_event(bwl_optimistic *o, const bwl_event *ev)
{
    assert((ev->kind == BWL_ALARM) == (o->wants == BWL_WANT_PAUSE));
    switch (o->wants) {
    case BWL_WANT_READ: return was_read(o, ev);
    case BWL_WANT_WRITE: return was_written(o, ev);
    case BWL_WANT_LEAVE: return over(o, o->end); /* nothing was written, with any reply */
    case BWL_WANT_PAUSE: return begin_try(o);
    case BWL_WANT_COMPUTE:
    case BWL_WANT_END: break;
    }
    bwl_unreachable("an event that the update does not wait for");
}
