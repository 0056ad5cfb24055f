/*
 * renew.c -- a lock that is held: renewal, loss, revocation.  See machine.h.
 *
 * An extension is sent a third of the lease after each grant.  If one fails, the lease goes on, and
 * there is time for more.  A lock that is not renewed is LOST at `until`.
 *
 * A lock that is revoked before `until` may still be in the store.  The caller may rely on the end
 * that was reported to it.  So the lock is not released before that end, unless the caller gives it
 * back earlier.
 */
#include "lock/machine_inside.h"
#include "lock/backoff.h"

enum { RENEW_PAUSE_MAX_MS = 1000 }; /* between renewals that fail, while the lease still runs */

static void plan_renewal(bwl_hold *h, bwl_ms now)
{
    bwl_ms third_ms = h->request.lease_ms / 3;
    bwl_ms half_ms  = (h->until - now) / 2; /* the smaller one if the reply came late */
    bool   worth_it = h->terms.renews && h->until < h->ends_at;

    assert(h->until > now);
    h->timer_at = worth_it ? now + bwl_ms_min(third_ms, half_ms) : h->until;
}

void bwl_hold_keep(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    assert(out->until > ev->now);
    h->state      = BWL_HOLD_HELD;
    h->last_error = BWL_PENDING;
    h->pauses     = 0;
    h->fence      = out->fence;
    h->ends_at    = bwl_ms_add(ev->now, h->terms.max_hold_ms);
    h->granted_to = out->until;
    h->until      = bwl_ms_min(out->until, h->ends_at);
    plan_renewal(h, ev->now);
    bwl_complete_held(fx, h->until, h->fence);
}

/* A lock that max_hold ends before its grant ends is certainly still granted to this hold. */
void bwl_hold_lose(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (h->protocol->can_verify_owner || ev->now < h->granted_to)
        bwl_hold_leave_with(h, BWL_LOST, ev, fx);
    else
        bwl_hold_end_with(h, BWL_LOST, fx);
}

void bwl_hold_renew(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    bwl_hold_command(h, BWL_HOLD_RENEWING, (bwl_command){ .verb = BWL_EXTEND }, ev, fx);
    if (h->state == BWL_HOLD_RENEWING)
        h->timer_at = h->until;
}

static void renewed(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bwl_ms until = bwl_ms_min(out->until, h->ends_at);

    h->state      = BWL_HOLD_HELD;
    h->last_error = BWL_PENDING;
    if (until > h->until)
        h->until = until;
    if (h->extend_again) {
        h->extend_again = false;
        bwl_hold_renew(h, ev, fx);
        return;
    }
    plan_renewal(h, ev->now);
    if (h->caller_extends)
        bwl_complete_held(fx, h->until, h->fence);
    h->caller_extends = false;
}

/* A renewal that the engine makes without a command of this machine has failed; the lock is
 * held. */
static void renewal_has_error(bwl_hold *h, bwl_outcome_kind kind)
{
    assert(kind == BWL_NOT_NOW || kind == BWL_UNREACHABLE || kind == BWL_UNKNOWN ||
           kind == BWL_STORE_REFUSED);
    h->last_error = kind;
}

void bwl_hold_unsolicited(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    if (out->kind == BWL_HELD)
        renewed(h, out, ev, fx);
    else if (out->kind == BWL_LOST)
        bwl_hold_end_with(h, BWL_LOST, fx);
    else
        renewal_has_error(h, out->kind);
}

/* The lease goes on: the next extension is sent after a twelfth of it, and at most a second. */
static void renewal_failed(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx)
{
    bwl_ms pause_ms = bwl_ms_min(h->request.lease_ms / 12, RENEW_PAUSE_MAX_MS);
    bwl_ms soon     = ev->now + (pause_ms > BWL_BACKOFF_MIN_MS ? pause_ms : BWL_BACKOFF_MIN_MS);

    h->state        = BWL_HOLD_HELD;
    h->last_error   = kind;
    h->extend_again = false;
    h->timer_at     = h->terms.renews ? bwl_ms_min(soon, h->until) : h->until;
    if (h->caller_extends)
        bwl_complete(fx, kind);
    h->caller_extends = false;
}

void bwl_hold_extended(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    switch (out->kind) {
    case BWL_HELD: renewed(h, out, ev, fx); break;
    case BWL_LOST: bwl_hold_end_with(h, BWL_LOST, fx); break;
    case BWL_UNKNOWN:
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE:
    case BWL_STORE_REFUSED: renewal_failed(h, out->kind, ev, fx); break;
    case BWL_PENDING:
    case BWL_QUEUED:
    case BWL_BUSY:
    case BWL_FULL:
    case BWL_RELEASED:
    case BWL_TIMED_OUT:
    case BWL_CANCELLED:
    case BWL_RETRY_WITH_NEW_TOKEN: bwl_unreachable("an extension has no such outcome");
    }
}

void bwl_hold_revoke(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    assert(bwl_hold_is_held(h));
    if (!h->protocol->can_verify_owner) {
        bwl_hold_end_with(h, BWL_LOST, fx);
    } else if (now >= h->until) {
        bwl_hold_leave_with(h, BWL_LOST, &(bwl_event){ .now = now }, fx);
    } else {
        h->state             = BWL_HOLD_REVOKED;
        h->timer_at          = h->until;
        h->protocol_wakes_at = BWL_NEVER;
        bwl_complete(fx, BWL_LOST);
    }
    fx->wake_at = bwl_ms_min(h->timer_at, h->protocol_wakes_at);
}

void bwl_hold_give_back(bwl_hold *h, bwl_moment at, bwl_effects *fx)
{
    assert(h->state == BWL_HOLD_REVOKED);
    bwl_hold_leave(h, &(bwl_event){ .now = at.now, .wall_ns = at.wall_ns }, fx);
    fx->wake_at = bwl_ms_min(h->timer_at, h->protocol_wakes_at);
}
