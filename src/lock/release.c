/*
 * release.c -- release, by the caller or in the background.  See machine.h.
 *
 * A release that may not have been carried out is sent again until answer_deadline.  If the
 * protocol cannot verify the owner, it is sent again only while the lock is certainly ours: after
 * that it could delete the lock of another client.
 */
#include "lock/machine_inside.h"

bool bwl_release_may_have_failed(bwl_outcome_kind released)
{
    switch (released) {
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE:
    case BWL_UNKNOWN: return true;
    case BWL_RELEASED:
    case BWL_LOST:
    case BWL_STORE_REFUSED: return false;
    case BWL_PENDING:
    case BWL_HELD:
    case BWL_QUEUED:
    case BWL_BUSY:
    case BWL_FULL:
    case BWL_TIMED_OUT:
    case BWL_CANCELLED:
    case BWL_RETRY_WITH_NEW_TOKEN: break;
    }
    bwl_unreachable("a release has no such outcome");
}

void bwl_hold_send_release(bwl_hold *h, bwl_hold_state next, const bwl_event *ev, bwl_effects *fx)
{
    bwl_hold_command(h, next, (bwl_command){ .verb = BWL_RELEASE }, ev, fx);
}

void bwl_hold_leave(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->answer_deadline = bwl_ms_add(ev->now, h->terms.answer_ms);
    h->pauses          = 0;
    bwl_hold_send_release(h, BWL_HOLD_LEAVING, ev, fx);
}

void bwl_hold_leave_with(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx)
{
    bwl_hold_leave(h, ev, fx);
    bwl_complete(fx, kind);
}

/* False if a second release could delete the lock of another client: the first one may have been
 * carried out, or the lease may be over. */
static bool may_retry_release(const bwl_hold *h, bwl_ms now)
{
    return h->protocol->can_verify_owner || (h->last_error != BWL_UNKNOWN && now < h->granted_to);
}

/* Sends the release again after a pause, or ends the hold. */
static void retry_release(bwl_hold *h, bwl_outcome_kind last_error, const bwl_event *ev,
                          bwl_effects *fx)
{
    bool caller_waits = h->state == BWL_HOLD_RELEASING;

    h->last_error = last_error;
    h->is_unknown = h->is_unknown || last_error == BWL_UNKNOWN;
    if (ev->now < h->answer_deadline && may_retry_release(h, ev->now))
        h->timer_at = bwl_ms_min(bwl_hold_pause_ends_at(h, ev), h->answer_deadline);
    else if (caller_waits)
        bwl_hold_end_with(h, h->is_unknown ? BWL_UNKNOWN : last_error, fx);
    else
        bwl_hold_end(h);
}

void bwl_hold_release_again(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (may_retry_release(h, ev->now))
        bwl_hold_send_release(h, h->state, ev, fx);
    else
        retry_release(h, h->last_error, ev, fx);
}

void bwl_hold_released(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool caller_waits = h->state == BWL_HOLD_RELEASING;

    if (bwl_release_may_have_failed(out->kind)) {
        retry_release(h, out->kind, ev, fx);
        return;
    }
    bwl_hold_end(h);
    if (caller_waits) /* LOST after a release without a reply: which of them did it is not known */
        bwl_complete(fx, out->kind == BWL_LOST && h->is_unknown ? BWL_UNKNOWN : out->kind);
}

void bwl_hold_release(bwl_hold *h, bwl_moment at, bwl_effects *fx)
{
    bwl_event ev = { .now = at.now, .wall_ns = at.wall_ns };

    assert(bwl_hold_is_held(h));
    assert(at.wall_ns != 0 || !h->protocol->uses_wall);
    if (at.now >= h->until) {
        bwl_hold_lose(h, &ev, fx);
    } else {
        h->answer_deadline = bwl_ms_add(at.now, h->terms.answer_ms);
        bwl_hold_send_release(h, BWL_HOLD_RELEASING, &ev, fx);
    }
    bwl_hold_set_timer(h, fx);
}
