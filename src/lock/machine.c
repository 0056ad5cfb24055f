/*
 * machine.c -- see machine.h, which has the states.
 *
 * The rules; other lock libraries break each of them:
 *   - every attempt has a new token; a token is sent in a second acquire only to resolve an attempt
 *     without a reply, and never after a release with it may have been sent;
 *   - a lease counts from before the command was sent; a grant that arrives after its end is no
 *     grant;
 *   - a command without a reply may have been carried out, or not: it counts neither as YES nor as
 *     NO;
 *   - a lock that the store may have with a token of this hold, and that is not wanted, is
 *     released.  If the protocol cannot verify the owner, it is released only while it certainly
 *     has that token: otherwise the release could delete the lock of another client.
 */
#include "lock/machine.h"
#include "protocol/format/token.h"
#include "lock/backoff.h"
#include "lock/change.h"

#include <string.h>

enum {
    PAUSE_MAX_MS       = 500,  /* between attempts */
    NEW_TOKEN_PAUSE_MS = 1,    /* the same after RETRY_WITH_NEW_TOKEN */
    RENEW_PAUSE_MAX_MS = 1000, /* between renewals that fail, while the lease still runs */
};

static void completed(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* ---- commands and the end -------------------------------------------------------------------- */

/* Passes a command to the protocol, and handles an outcome that it has at once. */
static void send_command(bwl_hold *h, bwl_hold_state next, bwl_command cmd, const bwl_event *ev,
                         bwl_effects *fx)
{
    assert(fx->outcome.kind == BWL_PENDING);
    h->state             = next;
    h->timer_at          = BWL_NEVER;
    h->protocol_wakes_at = BWL_NEVER;
    cmd.now              = ev->now;
    cmd.wall_ns          = ev->wall_ns;
    fx->wake_at          = 0;
    h->protocol->command(h->memory, &h->request, &cmd, fx);
    if (fx->wake_at != 0)
        h->protocol_wakes_at = fx->wake_at;
    if (fx->outcome.kind != BWL_PENDING) /* the protocol needed no command */
        completed(h, ev, fx);
}

static void end(bwl_hold *h)
{
    h->state             = BWL_HOLD_OVER;
    h->timer_at          = BWL_NEVER;
    h->protocol_wakes_at = BWL_NEVER;
}

static void end_with(bwl_hold *h, bwl_outcome_kind kind, bwl_effects *fx)
{
    end(h);
    bwl_complete(fx, kind);
}

/* The end of the next pause of the backoff. */
static bwl_ms pause_ends_at(bwl_hold *h, const bwl_event *ev)
{
    return bwl_ms_add(ev->now, bwl_backoff_ms(h->pauses++, PAUSE_MAX_MS, &ev->fresh));
}

/* ---- release, by the caller or in the background ----------------------------------------------
 * A release that may not have been carried out is sent again until answer_deadline.  If the
 * protocol cannot verify the owner, it is sent again only while the lock is certainly ours: after
 * that it could delete the lock of another client.
 */

/* True if the store may still have the lock after a release with this outcome. */
static bool may_have_failed(bwl_outcome_kind released)
{
    bool is_over =
        released == BWL_RELEASED || released == BWL_LOST || released == BWL_STORE_REFUSED;

    assert(is_over || released == BWL_NOT_NOW || released == BWL_UNREACHABLE ||
           released == BWL_UNKNOWN);
    return !is_over;
}

/* Sends RELEASE; the state `next` is the reason. */
static void send_release(bwl_hold *h, bwl_hold_state next, const bwl_event *ev, bwl_effects *fx)
{
    send_command(h, next, bwl_hold_release_command(h, ev->now), ev, fx);
}

/* Releases in the background what the store may have with the token of this attempt. */
static void leave(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->answer_deadline = bwl_ms_add(ev->now, h->terms.answer_ms);
    h->pauses          = 0;
    send_release(h, BWL_HOLD_LEAVING, ev, fx);
}

/* Reports `kind` to the caller, and then does the same. */
static void leave_with(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx)
{
    leave(h, ev, fx);
    bwl_complete(fx, kind);
}

/* False if a second release could delete the lock of another client: the first one may have been
 * carried out, or the lease may be over. */
static bool may_retry_release(const bwl_hold *h, bwl_ms now)
{
    return h->protocol->can_verify_owner || (h->last_error != BWL_UNKNOWN && now < h->granted_to);
}

/* Sends the release again after a pause, or ends the hold. */
static void retry_release(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx)
{
    bool caller_waits = h->state == BWL_HOLD_RELEASING;

    h->last_error = kind;
    h->is_unknown = h->is_unknown || kind == BWL_UNKNOWN;
    if (ev->now < h->answer_deadline && may_retry_release(h, ev->now))
        h->timer_at = bwl_ms_min(pause_ends_at(h, ev), h->answer_deadline);
    else if (caller_waits)
        end_with(h, h->is_unknown ? BWL_UNKNOWN : kind, fx);
    else
        end(h);
}

static void release_again(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (may_retry_release(h, ev->now))
        send_release(h, h->state, ev, fx);
    else
        retry_release(h, h->last_error, ev, fx);
}

static void released(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool caller_waits = h->state == BWL_HOLD_RELEASING;

    if (may_have_failed(out->kind)) {
        retry_release(h, out->kind, ev, fx);
        return;
    }
    end(h);
    if (caller_waits) /* LOST after a release without a reply: which of them did it is not known */
        bwl_complete(fx, out->kind == BWL_LOST && h->is_unknown ? BWL_UNKNOWN : out->kind);
}

/* ---- a lock that is held: renewal, loss ---------------------------------------------------------
 * An extension is sent a third of the lease after each grant.  If one fails, the lease goes on, and
 * there is time for more.  A lock that is not renewed is LOST at `until`.
 */

static void plan_renewal(bwl_hold *h, bwl_ms now)
{
    bwl_ms third_ms = h->request.lease_ms / 3;
    bwl_ms half_ms  = (h->until - now) / 2; /* the smaller one if the reply came late */
    bool   worth_it = h->terms.renews && h->until < h->ends_at;

    assert(h->until > now);
    h->timer_at = worth_it ? now + bwl_ms_min(third_ms, half_ms) : h->until;
}

static void keep(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    assert(out->until > ev->now);
    h->state      = BWL_HOLD_HELD;
    h->last_error = BWL_PENDING;
    h->pauses     = 0;
    h->adopts     = false; /* a yield acquires it */
    h->fence      = out->fence;
    h->ends_at    = bwl_ms_add(ev->now, h->terms.max_hold_ms);
    h->granted_to = out->until;
    h->until      = bwl_ms_min(out->until, h->ends_at);
    if (h->request.rest_ms > 0)
        h->rest_ends_at = bwl_ms_add(ev->now, h->request.rest_ms);
    plan_renewal(h, ev->now);
    bwl_complete_held(fx, h->until, h->fence);
}

/* Lost, and not released before `until`. */
static void revoke(bwl_hold *h, bwl_ms until, bwl_effects *fx)
{
    h->state             = BWL_HOLD_REVOKED;
    h->timer_at          = until;
    h->protocol_wakes_at = BWL_NEVER;
    bwl_complete(fx, BWL_LOST);
}

/* A lock that max_hold ends before its grant ends is certainly still granted to this hold. */
static void lose(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->now < h->rest_ends_at)
        revoke(h, h->rest_ends_at, fx);
    else if (h->protocol->can_verify_owner || ev->now < h->granted_to)
        leave_with(h, BWL_LOST, ev, fx);
    else
        end_with(h, BWL_LOST, fx);
}

static void renew(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    send_command(h, BWL_HOLD_RENEWING, bwl_change_command(h), ev, fx);
    if (h->state == BWL_HOLD_RENEWING)
        h->timer_at = h->until;
}

/* HELD; or BUSY, which is an extension too: the hold is shared, and was not upgraded. */
static void renewed(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool is_busy = h->state == BWL_HOLD_RENEWING && h->change.kind != 0 && bwl_change_ended(h, out);

    h->state      = BWL_HOLD_HELD;
    h->last_error = BWL_PENDING;
    h->granted_to = bwl_ms_max(h->granted_to, out->until);
    h->until      = bwl_ms_max(h->until, bwl_ms_min(out->until, h->ends_at));
    if (h->extend_again) {
        h->extend_again = false;
        renew(h, ev, fx);
        return;
    }
    plan_renewal(h, ev->now);
    if (h->caller_extends && is_busy)
        bwl_complete(fx, BWL_BUSY);
    else if (h->caller_extends)
        bwl_complete_held(fx, h->until, h->fence);
    h->caller_extends = false;
}

/* The lease goes on: the next extension is sent after a twelfth of it, and at most a second. */
static void renewal_failed(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx)
{
    bwl_ms pause_ms  = bwl_ms_min(h->request.lease_ms / 12, RENEW_PAUSE_MAX_MS);
    bwl_ms soon      = ev->now + bwl_ms_max(pause_ms, BWL_BACKOFF_MIN_MS);
    bool   is_urgent = bwl_change_failed(h, &kind, ev->now);

    h->state        = BWL_HOLD_HELD;
    h->last_error   = kind;
    h->extend_again = false;
    h->timer_at     = h->terms.renews ? bwl_ms_min(soon, h->until) : h->until;
    if (is_urgent) /* the caller still waits */
        h->timer_at = bwl_ms_min(pause_ends_at(h, ev), h->until);
    else if (h->caller_extends)
        bwl_complete(fx, kind);
    h->caller_extends = is_urgent;
}

/* The outcome of an extension.  In HELD: the protocol reports a later end, a loss, or a failed
 * renewal of the engine, without a command. */
static void extended(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool is_good = out->kind == BWL_HELD || (out->kind == BWL_BUSY && h->change.kind != 0);

    assert(is_good || may_have_failed(out->kind) || out->kind != BWL_RELEASED);
    if (is_good)
        renewed(h, out, ev, fx);
    else if (out->kind == BWL_LOST)
        end_with(h, BWL_LOST, fx);
    else if (h->state == BWL_HOLD_RENEWING)
        renewal_failed(h, out->kind, ev, fx);
    else
        h->last_error = out->kind;
}

/* ---- acquiring ------------------------------------------------------------------------------- */

static const bwl_compat_rules *rules_of(const bwl_hold *h)
{
    static const bwl_compat_rules none = { 0 };

    return h->request.options->rules != NULL ? h->request.options->rules : &none;
}

/* Starts an attempt with a new token; `yields`: the lock is held by the previous one. */
static void attempt(bwl_hold *h, bool yields, const bwl_event *ev, bwl_effects *fx)
{
    h->request.attempt++;
    h->change = (bwl_mode_change){ .kind = 0 };
    if (h->protocol->uses_token)
        bwl_token_write_as(h->request.token, rules_of(h)->token, &ev->fresh, ev->wall_ns);
    h->attempt_ends_at =
        h->protocol->uses_push ? BWL_NEVER : bwl_ms_add(ev->now, h->request.lease_ms);
    bwl_command cmd = {
        .verb = BWL_ACQUIRE, .may_wait = !h->last_try, .yields = yields, .adopts = h->adopts
    };
    send_command(h, BWL_HOLD_ACQUIRING, cmd, ev, fx);
}

static void end_attempt(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    bool waited = h->last_error == BWL_BUSY && h->would_wait;

    if (h->last_error == BWL_UNKNOWN)
        leave_with(h, BWL_UNKNOWN, ev, fx);
    else
        end_with(h, waited ? BWL_TIMED_OUT : h->last_error, fx);
}

/* The store has no lock with this token.  Makes another attempt after a pause, unless the wait is
 * over.  A store that was unreachable until the end of the wait gets no last attempt: it could take
 * as long as this one did. */
static void attempt_failed(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_compat_rules *rules = rules_of(h);
    bool is_last = h->last_try || (rules->tries_max != 0 && h->request.attempt >= rules->tries_max);
    bool is_in_vain = kind == BWL_UNREACHABLE && ev->now >= h->wait_deadline;

    h->last_error = kind;
    if (is_last || is_in_vain) {
        end_attempt(h, ev, fx);
        return;
    }
    bwl_ms next =
        rules->pause_ms != 0 ? bwl_ms_add(ev->now, rules->pause_ms) : pause_ends_at(h, ev);
    h->state    = BWL_HOLD_WAITING;
    h->timer_at = bwl_ms_min(next, h->wait_deadline);
}

/* The same for RETRY_WITH_NEW_TOKEN: the pause is short. */
static void retry_with_new_token(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->last_error = h->last_try ? BWL_NOT_NOW : BWL_BUSY;
    if (h->last_try && ev->now >= h->answer_deadline) {
        end_attempt(h, ev, fx);
        return;
    }
    h->state    = BWL_HOLD_WAITING;
    h->timer_at = bwl_ms_add(ev->now, NEW_TOKEN_PAUSE_MS);
    if (!h->last_try) /* the last attempt begins at the end of the wait, and not later */
        h->timer_at = bwl_ms_min(h->timer_at, h->wait_deadline);
}

/* A command of this attempt has no reply: the store may have the lock with its token. */
static void resolve_later(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->last_error = BWL_UNKNOWN;
    h->state      = BWL_HOLD_RESOLVING;
    if (!h->protocol->can_verify_owner)
        end_with(h, BWL_UNKNOWN, fx);
    else if (ev->now >= bwl_hold_resolve_deadline(h))
        end_attempt(h, ev, fx);
    else if (ev->now >= h->attempt_ends_at) /* its lease would be over: make the next attempt */
        send_release(h, BWL_HOLD_DISCARDING, ev, fx);
    else
        h->timer_at = bwl_ms_min(pause_ends_at(h, ev), bwl_hold_resolve_deadline(h));
}

/* The release of a late grant has its outcome.  A release that may have failed is sent again:
 * otherwise the next attempt could wait for the key of this one. */
static void discarded(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool is_refused = h->last_error == BWL_STORE_REFUSED; /* a new attempt would be refused too */

    if (!may_have_failed(out->kind) && is_refused)
        end_with(h, BWL_STORE_REFUSED, fx);
    else if (!may_have_failed(out->kind) && h->adopts) /* there is nothing left to adopt */
        end_with(h, h->last_error, fx);
    else if (!may_have_failed(out->kind))
        attempt_failed(h, h->last_error, ev, fx);
    else if (h->last_try || ev->now >= h->wait_deadline)
        leave_with(h, h->last_error, ev, fx);
    else
        h->timer_at = bwl_ms_min(pause_ends_at(h, ev), h->wait_deadline);
}

static void acquired(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    if (out->until > ev->now) {
        keep(h, out, ev, fx);
    } else if (h->protocol->can_verify_owner) {
        h->last_error = out->why != BWL_PENDING ? out->why : BWL_NOT_NOW;
        send_release(h, BWL_HOLD_DISCARDING, ev, fx);
    } else {
        attempt_failed(h, BWL_NOT_NOW, ev, fx); /* the grant ends in the store by itself */
    }
}

/* After a cancel during its command, the acquire has an outcome now: releases what is ours. */
static void abandoned(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    h->granted_to = out->until;
    if (out->kind == BWL_HELD && out->until > ev->now)
        leave(h, ev, fx);
    else
        end(h);
}

/* ---- yielding ---------------------------------------------------------------------------------
 * In one step: the attempt has a new token while the store has the lock by the previous one, and
 * the protocol leaves neither of them behind.  Otherwise a release comes first.  If that has no
 * reply, no acquire follows: the caller gets its outcome, and it goes on in the background.
 */

static void begin_yield(bwl_hold *h, const bwl_event *ev, bwl_ms deadline, bwl_effects *fx)
{
    h->request.attempt = 0; /* as many attempts as an acquire has */
    h->wait_deadline   = deadline;
    h->answer_deadline = bwl_ms_add(ev->now, h->terms.answer_ms);
    h->would_wait      = true;
    h->last_try        = false;
    h->last_error      = BWL_PENDING;
    h->caller_extends  = false;
    h->extend_again    = false;
    if (h->protocol->yields && h->request.share.weight == 0) {
        assert(h->protocol->uses_token && strlen(h->request.token) <= BWL_OTHER_TOKEN_MAX);
        memcpy(h->other_token, h->request.token, sizeof h->other_token);
        attempt(h, true, ev, fx);
    } else {
        send_release(h, BWL_HOLD_YIELDING, ev, fx);
    }
}

static void yielded(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool may_be_ours = may_have_failed(out->kind) || out->kind == BWL_STORE_REFUSED;

    if (out->kind == BWL_RELEASED) {
        h->last_try        = ev->now >= h->wait_deadline;
        h->answer_deadline = bwl_ms_add(ev->now, h->terms.answer_ms);
        attempt(h, false, ev, fx);
    } else if (may_be_ours && h->protocol->can_verify_owner) {
        leave_with(h, out->kind, ev, fx);
    } else {
        end_with(h, out->kind, fx);
    }
}

/* ---- outcomes of the protocol ---------------------------------------------------------------- */

static void acquire_ended(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool is_resolving = h->state == BWL_HOLD_RESOLVING;

    switch (out->kind) {
    case BWL_HELD: acquired(h, out, ev, fx); break;
    case BWL_QUEUED:
        h->state      = BWL_HOLD_QUEUED;
        h->last_error = BWL_BUSY;
        h->timer_at   = h->wait_deadline;
        break;
    case BWL_BUSY:
        if (h->adopts)
            end_with(h, BWL_LOST, fx);
        else
            attempt_failed(h, BWL_BUSY, ev, fx);
        break;
    case BWL_FULL: end_with(h, BWL_FULL, fx); break;
    case BWL_DONE: /* after a wait there may be an entry in the queue */
        h->would_wait ? leave_with(h, BWL_DONE, ev, fx) : end_with(h, BWL_DONE, fx);
        break;
    case BWL_RETRY_WITH_NEW_TOKEN: retry_with_new_token(h, ev, fx); break;
    case BWL_UNKNOWN: resolve_later(h, ev, fx); break;
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE: /* the command before this one may have been carried out */
        if (is_resolving)
            resolve_later(h, ev, fx);
        else
            attempt_failed(h, out->kind, ev, fx);
        break;
    case BWL_STORE_REFUSED: /* QUEUED: the entry may still be in the queue, before other waiters */
        if (is_resolving || h->state == BWL_HOLD_QUEUED)
            leave_with(h, is_resolving ? BWL_UNKNOWN : BWL_STORE_REFUSED, ev, fx);
        else
            end_with(h, BWL_STORE_REFUSED, fx);
        break;
    case BWL_LOST: /* it was not held, so it cannot be yielded or adopted */
        assert(h->other_token[0] != '\0');
        assert(h->state == BWL_HOLD_ACQUIRING || h->adopts);
        end_with(h, BWL_LOST, fx);
        break;
    case BWL_PENDING:
    case BWL_RELEASED:
    case BWL_TIMED_OUT:
    case BWL_CANCELLED: bwl_unreachable("an acquire has no such outcome");
    }
}

static void completed(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    bwl_outcome out = fx->outcome;

    fx->outcome = (bwl_outcome){ .kind = BWL_PENDING };
    switch (h->state) {
    case BWL_HOLD_ACQUIRING:
    case BWL_HOLD_RESOLVING:
    case BWL_HOLD_QUEUED: acquire_ended(h, &out, ev, fx); break;
    case BWL_HOLD_ABANDONING: abandoned(h, &out, ev, fx); break;
    case BWL_HOLD_DISCARDING: discarded(h, &out, ev, fx); break;
    case BWL_HOLD_YIELDING: yielded(h, &out, ev, fx); break;
    case BWL_HOLD_HELD:
    case BWL_HOLD_RENEWING: extended(h, &out, ev, fx); break;
    case BWL_HOLD_RELEASING:
    case BWL_HOLD_LEAVING: released(h, &out, ev, fx); break;
    case BWL_HOLD_IDLE:
    case BWL_HOLD_WAITING:
    case BWL_HOLD_REVOKED:
    case BWL_HOLD_OVER: bwl_unreachable("an outcome without a command");
    }
}

/* ---- the machine's own timer ----------------------------------------------------------------- */

static void alarm(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->timer_at = BWL_NEVER;
    switch (h->state) {
    case BWL_HOLD_WAITING:
        if (!h->last_try)
            h->answer_deadline =
                bwl_ms_add(bwl_ms_min(ev->now, h->wait_deadline), h->terms.answer_ms);
        h->last_try = ev->now >= h->wait_deadline;
        attempt(h, false, ev, fx);
        break;
    case BWL_HOLD_RESOLVING:
        if (ev->now >= bwl_hold_resolve_deadline(h) || ev->now >= h->attempt_ends_at)
            resolve_later(h, ev, fx);
        else
            send_command(h, BWL_HOLD_RESOLVING,
                         (bwl_command){ .verb = BWL_ACQUIRE, .again = true, .adopts = h->adopts },
                         ev, fx);
        break;
    case BWL_HOLD_QUEUED: leave_with(h, BWL_TIMED_OUT, ev, fx); break;
    case BWL_HOLD_HELD: renew(h, ev, fx); break;
    case BWL_HOLD_REVOKED: leave(h, ev, fx); break;
    case BWL_HOLD_DISCARDING: send_release(h, BWL_HOLD_DISCARDING, ev, fx); break;
    case BWL_HOLD_RELEASING:
    case BWL_HOLD_LEAVING: release_again(h, ev, fx); break;
    case BWL_HOLD_RENEWING: /* ends at `until`, which bwl_hold_event checks before the alarm */
    case BWL_HOLD_IDLE:
    case BWL_HOLD_ACQUIRING:
    case BWL_HOLD_ABANDONING:
    case BWL_HOLD_YIELDING:
    case BWL_HOLD_OVER: bwl_unreachable("no timer is set in these states");
    }
}

/* ---- calls from above, and events ------------------------------------------------------------ */

/* Only an alarm that the protocol has set in this step has its slack. */
static void set_timer(const bwl_hold *h, bwl_effects *fx)
{
    bwl_ms slack_ms = fx->wake_at == h->protocol_wakes_at ? fx->wake_slack_ms : 0;

    if (bwl_ms_add(h->protocol_wakes_at, slack_ms) > h->timer_at)
        slack_ms = 0;
    bwl_wake_about(fx, bwl_ms_min(h->timer_at, h->protocol_wakes_at), slack_ms);
}

void bwl_hold_acquire(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms wait_deadline,
                      bwl_effects *fx)
{
    bwl_event ev = { .now = at.now, .wall_ns = at.wall_ns, .fresh = *fresh };

    assert(h->state == BWL_HOLD_IDLE);
    assert(at.wall_ns != 0 || !h->protocol->uses_wall);
    h->wait_deadline   = wait_deadline;
    h->would_wait      = wait_deadline > at.now;
    h->last_try        = !h->would_wait;
    h->answer_deadline = bwl_ms_add(at.now, h->terms.answer_ms);
    attempt(h, false, &ev, fx);
    set_timer(h, fx);
}

void bwl_hold_extend(bwl_hold *h, bwl_ms now, bwl_ms lease_ms, bwl_effects *fx)
{
    bwl_event ev = { .now = now };

    assert(bwl_hold_is_held(h));
    assert(h->protocol->extends);
    assert(lease_ms > bwl_drift_named_ms(lease_ms, h->request.options->drift_ppm));
    h->request.lease_ms = lease_ms;
    h->caller_extends   = true;
    if (now >= h->until)
        lose(h, &ev, fx);
    else if (h->state == BWL_HOLD_RENEWING)
        h->extend_again = true;
    else
        renew(h, &ev, fx);
    set_timer(h, fx);
}

void bwl_hold_change(bwl_hold *h, bwl_change kind, const bwl_random *fresh, bwl_moment at,
                     bwl_effects *fx)
{
    bwl_event ev = { .now = at.now, .wall_ns = at.wall_ns, .fresh = *fresh };

    assert(bwl_hold_is_held(h));
    bwl_change_begin(h, kind, fresh, at);
    if (at.now >= h->until)
        lose(h, &ev, fx);
    else
        renew(h, &ev, fx);
    set_timer(h, fx);
}

void bwl_hold_release(bwl_hold *h, bwl_moment at, bwl_effects *fx)
{
    bwl_event ev = { .now = at.now, .wall_ns = at.wall_ns };

    assert(bwl_hold_is_held(h));
    assert(at.wall_ns != 0 || !h->protocol->uses_wall);
    if (at.now >= h->until) {
        lose(h, &ev, fx);
    } else {
        h->answer_deadline = bwl_ms_add(at.now, h->terms.answer_ms);
        send_release(h, BWL_HOLD_RELEASING, &ev, fx);
    }
    set_timer(h, fx);
}

void bwl_hold_yield(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms wait_deadline,
                    bwl_effects *fx)
{
    bwl_event ev = { .now = at.now, .wall_ns = at.wall_ns, .fresh = *fresh };

    assert(bwl_hold_is_held(h));
    assert(wait_deadline > at.now);
    assert(at.wall_ns != 0 || !h->protocol->uses_wall);
    if (at.now >= h->until)
        lose(h, &ev, fx);
    else
        begin_yield(h, &ev, wait_deadline, fx);
    set_timer(h, fx);
}

void bwl_hold_revoke(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    assert(bwl_hold_is_held(h));
    if (!h->protocol->can_verify_owner)
        end_with(h, BWL_LOST, fx);
    else if (now >= h->until)
        lose(h, &(bwl_event){ .now = now }, fx);
    else
        revoke(h, bwl_ms_max(h->until, h->rest_ends_at), fx);
    set_timer(h, fx);
}

void bwl_hold_give_back(bwl_hold *h, bwl_moment at, bwl_effects *fx)
{
    assert(h->state == BWL_HOLD_REVOKED);
    leave(h, &(bwl_event){ .now = at.now, .wall_ns = at.wall_ns }, fx);
    set_timer(h, fx);
}

/* Ends the attempt with this outcome. */
static void stop(bwl_hold *h, bwl_ms now, bwl_outcome_kind kind, bwl_effects *fx)
{
    assert(bwl_hold_is_acquiring(h));
    if (h->state == BWL_HOLD_WAITING) {
        end_with(h, kind, fx);
    } else if (h->state != BWL_HOLD_YIELDING && h->protocol->can_verify_owner) {
        leave_with(h, kind, &(bwl_event){ .now = now }, fx);
    } else { /* the command in flight goes on */
        assert(h->state == BWL_HOLD_YIELDING || h->state == BWL_HOLD_ACQUIRING);
        h->state = h->state == BWL_HOLD_YIELDING ? BWL_HOLD_LEAVING : BWL_HOLD_ABANDONING;
        bwl_complete(fx, kind);
    }
    set_timer(h, fx);
}

void bwl_hold_cancel(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    stop(h, now, BWL_CANCELLED, fx);
}

void bwl_hold_time_up(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    bool is_waiting = h->state == BWL_HOLD_WAITING;
    bool is_known   = is_waiting || h->state == BWL_HOLD_DISCARDING;

    if (h->state == BWL_HOLD_QUEUED || (is_waiting && h->last_error == BWL_BUSY && h->would_wait))
        stop(h, now, BWL_TIMED_OUT, fx);
    else
        stop(h, now, is_known ? h->last_error : BWL_UNKNOWN, fx);
}

void bwl_hold_event(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    assert(h->state != BWL_HOLD_IDLE);
    if (ev->kind == BWL_PUSH && h->protocol->retries_on_push && h->state == BWL_HOLD_WAITING)
        h->timer_at = ev->now;
    else if (bwl_hold_is_held(h) && ev->now >= h->until) {
        lose(h, ev, fx);
    } else if (ev->kind == BWL_ALARM && ev->now >= h->timer_at) {
        alarm(h, ev, fx);
    } else if (h->state != BWL_HOLD_OVER && h->state != BWL_HOLD_REVOKED &&
               (ev->kind != BWL_ALARM || ev->now >= h->protocol_wakes_at)) {
        if (ev->kind == BWL_ALARM)
            h->protocol_wakes_at = BWL_NEVER;
        h->protocol->event(h->memory, &h->request, ev, fx);
        if (fx->wake_at != 0)
            h->protocol_wakes_at = fx->wake_at;
        if (fx->outcome.kind != BWL_PENDING)
            completed(h, ev, fx);
    }
    set_timer(h, fx);
}
