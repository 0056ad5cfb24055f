/*
 * machine.c -- attempts, waiting, resolving attempts without a reply.  machine.h has the states;
 * renew.c renews, release.c releases, yield.c yields.
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
 *     has that token: otherwise the release could delete another client's lock.
 */
#include "lock/machine.h"
#include "core/compat_rules.h"
#include "core/token.h"
#include "lock/machine_inside.h"
#include "lock/backoff.h"

enum {
    PAUSE_MAX_MS       = 500, /* between attempts */
    NEW_TOKEN_PAUSE_MS = 1,   /* the same after RETRY_WITH_NEW_TOKEN */
    STORE_FIRST_MS     = 50,  /* by this much the engine's time limit may come later */
    REPLICAS_LATE_MS   = 250, /* the same for the reply of replicas and the release after it */
};

static void completed(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* ---- commands and the end -------------------------------------------------------------------- */

void bwl_hold_command(bwl_hold *h, bwl_hold_state next, bwl_command cmd, const bwl_event *ev,
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

void bwl_hold_end(bwl_hold *h)
{
    h->state             = BWL_HOLD_OVER;
    h->timer_at          = BWL_NEVER;
    h->protocol_wakes_at = BWL_NEVER;
}

void bwl_hold_end_with(bwl_hold *h, bwl_outcome_kind kind, bwl_effects *fx)
{
    bwl_hold_end(h);
    bwl_complete(fx, kind);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

bwl_ms bwl_hold_pause_ends_at(bwl_hold *h, const bwl_event *ev)
{
    return bwl_ms_add(ev->now, bwl_backoff_ms(h->pauses++, PAUSE_MAX_MS, &ev->fresh));
}

/* The end of the pause between two attempts: that of the rules, or the backoff. */
static bwl_ms next_try_at(bwl_hold *h, const bwl_event *ev)
{
    const bwl_compat_rules *rules    = h->request.options->rules;
    bwl_ms                  pause_ms = rules != NULL ? rules->pause_ms : 0;

    return pause_ms != 0 ? bwl_ms_add(ev->now, pause_ms) : bwl_hold_pause_ends_at(h, ev);
}

/* ---- acquiring ------------------------------------------------------------------------------- */

static bwl_token_format token_format(const bwl_hold *h)
{
    const bwl_compat_rules *rules = h->request.options->rules;

    return rules != NULL ? rules->token : BWL_TOKEN_OURS;
}

void bwl_hold_attempt(bwl_hold *h, bool yields, const bwl_event *ev, bwl_effects *fx)
{
    h->request.attempt++;
    if (h->protocol->uses_token)
        bwl_token_write_as(h->request.token, token_format(h), &ev->fresh, ev->wall_ns);
    h->attempt_ends_at =
        h->protocol->uses_push ? BWL_NEVER : bwl_ms_add(ev->now, h->request.lease_ms);
    bwl_command cmd = { .verb = BWL_ACQUIRE, .may_wait = !h->last_try, .yields = yields };
    bwl_hold_command(h, BWL_HOLD_ACQUIRING, cmd, ev, fx);
}

static void end_attempt(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (h->last_error == BWL_UNKNOWN)
        bwl_hold_leave_with(h, BWL_UNKNOWN, ev, fx);
    else if (h->last_error == BWL_BUSY && h->would_wait)
        bwl_hold_end_with(h, BWL_TIMED_OUT, fx);
    else
        bwl_hold_end_with(h, h->last_error, fx);
}

static bool was_last_try(const bwl_hold *h)
{
    const bwl_compat_rules *rules     = h->request.options->rules;
    unsigned                tries_max = rules != NULL ? rules->tries_max : 0;

    return h->last_try || (tries_max != 0 && h->request.attempt >= tries_max);
}

/* The store has no lock with this token.  Makes another attempt after a pause, unless the wait is
 * over.  A store that was unreachable until the end of the wait gets no last attempt: it could take
 * as long as this one did. */
static void attempt_failed(bwl_hold *h, bwl_outcome_kind last_error, const bwl_event *ev,
                           bwl_effects *fx)
{
    bool is_in_vain = last_error == BWL_UNREACHABLE && ev->now >= h->wait_deadline;

    h->last_error = last_error;
    if (was_last_try(h) || is_in_vain) {
        end_attempt(h, ev, fx);
        return;
    }
    h->state    = BWL_HOLD_WAITING;
    h->timer_at = bwl_ms_min(next_try_at(h, ev), h->wait_deadline);
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

static bwl_ms resolve_deadline(const bwl_hold *h)
{
    return h->wait_deadline > h->answer_deadline ? h->wait_deadline : h->answer_deadline;
}

/* A command of this attempt has no reply: the store may have the lock with its token. */
static void resolve_later(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->last_error = BWL_UNKNOWN;
    h->state      = BWL_HOLD_RESOLVING;
    if (!h->protocol->can_verify_owner)
        bwl_hold_end_with(h, BWL_UNKNOWN, fx);
    else if (ev->now >= resolve_deadline(h))
        end_attempt(h, ev, fx);
    else if (ev->now >= h->attempt_ends_at) /* its lease would be over: make the next attempt */
        bwl_hold_send_release(h, BWL_HOLD_DISCARDING, ev, fx);
    else
        h->timer_at = bwl_ms_min(bwl_hold_pause_ends_at(h, ev), resolve_deadline(h));
}

static void resolve(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->now >= resolve_deadline(h) || ev->now >= h->attempt_ends_at)
        resolve_later(h, ev, fx);
    else
        bwl_hold_command(h, BWL_HOLD_RESOLVING, (bwl_command){ .verb = BWL_ACQUIRE, .again = true },
                         ev, fx);
}

/* The release of a late grant has its outcome.  A release that may have failed is sent again:
 * otherwise the next attempt could wait for the key of this one. */
static void discarded(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool is_refused = h->last_error == BWL_STORE_REFUSED; /* a new attempt would be refused too */

    if (!bwl_release_may_have_failed(out->kind) && is_refused)
        bwl_hold_end_with(h, BWL_STORE_REFUSED, fx);
    else if (!bwl_release_may_have_failed(out->kind))
        attempt_failed(h, h->last_error, ev, fx);
    else if (h->last_try || ev->now >= h->wait_deadline)
        bwl_hold_leave_with(h, h->last_error, ev, fx);
    else
        h->timer_at = bwl_ms_min(bwl_hold_pause_ends_at(h, ev), h->wait_deadline);
}

static void acquired(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    if (out->until > ev->now) {
        bwl_hold_keep(h, out, ev, fx);
    } else if (h->protocol->can_verify_owner) {
        h->last_error = out->why != BWL_PENDING ? out->why : BWL_NOT_NOW;
        bwl_hold_send_release(h, BWL_HOLD_DISCARDING, ev, fx);
    } else {
        attempt_failed(h, BWL_NOT_NOW, ev, fx); /* the grant ends in the store by itself */
    }
}

/* The acquire was cancelled while its command was in flight, and has its outcome now.  Releases the
 * lock if it is certainly ours. */
static void abandoned(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    h->answer_deadline = bwl_ms_add(ev->now, h->terms.answer_ms);
    h->pauses          = 0;
    h->granted_to      = out->until;
    if (out->kind == BWL_HELD && out->until > ev->now)
        bwl_hold_send_release(h, BWL_HOLD_LEAVING, ev, fx);
    else
        bwl_hold_end(h);
}

/* ---- outcomes of the protocol ---------------------------------------------------------------- */

static void acquire_completed(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev,
                              bwl_effects *fx)
{
    bool is_resolving = h->state == BWL_HOLD_RESOLVING;
    bool queued       = h->state == BWL_HOLD_QUEUED;

    switch (out->kind) {
    case BWL_HELD: acquired(h, out, ev, fx); break;
    case BWL_QUEUED:
        h->state      = BWL_HOLD_QUEUED;
        h->last_error = BWL_BUSY;
        h->timer_at   = h->wait_deadline;
        break;
    case BWL_BUSY: attempt_failed(h, BWL_BUSY, ev, fx); break;
    case BWL_FULL: bwl_hold_end_with(h, BWL_FULL, fx); break;
    case BWL_RETRY_WITH_NEW_TOKEN: retry_with_new_token(h, ev, fx); break;
    case BWL_UNKNOWN: resolve_later(h, ev, fx); break;
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE: /* the command before this one may have been carried out */
        if (is_resolving)
            resolve_later(h, ev, fx);
        else
            attempt_failed(h, out->kind, ev, fx);
        break;
    case BWL_STORE_REFUSED:
        if (is_resolving)
            bwl_hold_leave_with(h, BWL_UNKNOWN, ev, fx);
        else if (queued) /* the entry may still be in the queue, before other waiters */
            bwl_hold_leave_with(h, BWL_STORE_REFUSED, ev, fx);
        else
            bwl_hold_end_with(h, BWL_STORE_REFUSED, fx);
        break;
    case BWL_LOST: bwl_hold_not_yielded(h, fx); break;
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
    case BWL_HOLD_QUEUED: acquire_completed(h, &out, ev, fx); break;
    case BWL_HOLD_ABANDONING: abandoned(h, &out, ev, fx); break;
    case BWL_HOLD_DISCARDING: discarded(h, &out, ev, fx); break;
    case BWL_HOLD_YIELDING: bwl_hold_yielded(h, &out, ev, fx); break;
    case BWL_HOLD_HELD: bwl_hold_unsolicited(h, &out, ev, fx); break;
    case BWL_HOLD_RENEWING: bwl_hold_extended(h, &out, ev, fx); break;
    case BWL_HOLD_RELEASING:
    case BWL_HOLD_LEAVING: bwl_hold_released(h, &out, ev, fx); break;
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
        bwl_hold_attempt(h, false, ev, fx);
        break;
    case BWL_HOLD_RESOLVING: resolve(h, ev, fx); break;
    case BWL_HOLD_QUEUED: bwl_hold_leave_with(h, BWL_TIMED_OUT, ev, fx); break;
    case BWL_HOLD_HELD: bwl_hold_renew(h, ev, fx); break;
    case BWL_HOLD_REVOKED: bwl_hold_leave(h, ev, fx); break;
    case BWL_HOLD_DISCARDING: bwl_hold_send_release(h, BWL_HOLD_DISCARDING, ev, fx); break;
    case BWL_HOLD_RELEASING:
    case BWL_HOLD_LEAVING: bwl_hold_release_again(h, ev, fx); break;
    case BWL_HOLD_RENEWING: /* ends at `until`, which bwl_hold_event checks before the alarm */
    case BWL_HOLD_IDLE:
    case BWL_HOLD_ACQUIRING:
    case BWL_HOLD_ABANDONING:
    case BWL_HOLD_YIELDING:
    case BWL_HOLD_OVER: bwl_unreachable("no timer is set in these states");
    }
}

/* ---- calls from above, and events ------------------------------------------------------------ */

/* The machine's own timer has no slack.  The slack of the protocol's alarm is used only if that
 * alarm was set in this step. */
void bwl_hold_set_timer(const bwl_hold *h, bwl_effects *fx)
{
    bwl_ms slack_ms = fx->wake_at == h->protocol_wakes_at ? fx->wake_slack_ms : 0;

    if (bwl_ms_add(h->protocol_wakes_at, slack_ms) > h->timer_at)
        slack_ms = 0;
    bwl_wake_about(fx, bwl_ms_min(h->timer_at, h->protocol_wakes_at), slack_ms);
}

void bwl_hold_init(bwl_hold *h, const bwl_protocol *protocol, unsigned nodes,
                   const bwl_terms *terms)
{
    static const bwl_protocol_options none    = { 0 };
    const bwl_protocol_options       *options = terms->options != NULL ? terms->options : &none;

    assert(protocol->state_size <= sizeof h->memory);
    assert(terms->lease_ms > bwl_drift_named_ms(terms->lease_ms, options->drift_ppm));
    assert(terms->max_hold_ms > 0);
    *h = (bwl_hold){
        .protocol          = protocol,
        .terms             = *terms,
        .request           = { .lease_ms  = terms->lease_ms,
                               .answer_ms = terms->answer_ms,
                               .options   = options },
        .state             = BWL_HOLD_IDLE,
        .timer_at          = BWL_NEVER,
        .protocol_wakes_at = BWL_NEVER,
    };
    h->terms.renews = terms->renews && protocol->extends;
    protocol->init(h->memory, nodes);
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
    bwl_hold_attempt(h, false, &ev, fx);
    bwl_hold_set_timer(h, fx);
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
        bwl_hold_lose(h, &ev, fx);
    else if (h->state == BWL_HOLD_RENEWING)
        h->extend_again = true;
    else
        bwl_hold_renew(h, &ev, fx);
    bwl_hold_set_timer(h, fx);
}

/* Ends the attempt with this outcome. */
static void stop(bwl_hold *h, bwl_ms now, bwl_outcome_kind kind, bwl_effects *fx)
{
    assert(bwl_hold_is_acquiring(h));
    if (h->state == BWL_HOLD_WAITING) {
        bwl_hold_end_with(h, kind, fx);
    } else if (h->state != BWL_HOLD_YIELDING && h->protocol->can_verify_owner) {
        bwl_hold_leave_with(h, kind, &(bwl_event){ .now = now }, fx);
    } else { /* the command in flight goes on */
        assert(h->state == BWL_HOLD_YIELDING || h->state == BWL_HOLD_ACQUIRING);
        h->state = h->state == BWL_HOLD_YIELDING ? BWL_HOLD_LEAVING : BWL_HOLD_ABANDONING;
        bwl_complete(fx, kind);
    }
    bwl_hold_set_timer(h, fx);
}

void bwl_hold_cancel(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    stop(h, now, BWL_CANCELLED, fx);
}

bwl_ms bwl_hold_result_deadline(const bwl_hold *h)
{
    if (!bwl_hold_is_acquiring(h))
        return BWL_NEVER;
    bwl_ms slack_ms = STORE_FIRST_MS + (h->request.options->replicas > 0 ? REPLICAS_LATE_MS : 0);
    return bwl_ms_add(h->wait_deadline, bwl_ms_add(h->terms.answer_ms, slack_ms));
}

bwl_ms bwl_hold_send_deadline(const bwl_hold *h)
{
    if (h->state == BWL_HOLD_RESOLVING)
        return resolve_deadline(h);
    return h->state == BWL_HOLD_ACQUIRING && h->last_error == BWL_UNREACHABLE ? h->wait_deadline
                                                                              : BWL_NEVER;
}

void bwl_hold_time_up(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    bool is_known = h->state == BWL_HOLD_DISCARDING || h->state == BWL_HOLD_WAITING;

    if (h->state == BWL_HOLD_QUEUED)
        stop(h, now, BWL_TIMED_OUT, fx);
    else if (h->state == BWL_HOLD_WAITING && h->last_error == BWL_BUSY && h->would_wait)
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
        bwl_hold_lose(h, ev, fx);
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
    bwl_hold_set_timer(h, fx);
}

bool bwl_hold_is_held(const bwl_hold *h)
{
    return h->state == BWL_HOLD_HELD || h->state == BWL_HOLD_RENEWING;
}

bool bwl_hold_is_acquiring(const bwl_hold *h)
{
    return h->state == BWL_HOLD_ACQUIRING || h->state == BWL_HOLD_RESOLVING ||
           h->state == BWL_HOLD_DISCARDING || h->state == BWL_HOLD_WAITING ||
           h->state == BWL_HOLD_QUEUED || h->state == BWL_HOLD_YIELDING;
}

bwl_ms bwl_hold_left(const bwl_hold *h, bwl_ms now)
{
    if (!bwl_hold_is_held(h) || now >= h->until)
        return 0;
    return h->until == BWL_NEVER ? BWL_NEVER : h->until - now;
}

bwl_ms bwl_hold_left_truly(const bwl_hold *h, bwl_ms now)
{
    bwl_ms left = bwl_hold_left(h, now);

    return left == 0 || left == BWL_NEVER ? left : left - 1;
}
