/*
 * machine.c -- waiting, settling, noticing the loss.  See machine.h for the states, renew.c for
 * renewing, release.c for letting go.
 *
 * The rules, each of which somebody's lock has paid for:
 *   - every attempt has a new token; the same token is asked for again only to settle an attempt
 *     that got no answer, and never after a release of it may have been written;
 *   - what is ours is ours until a moment counted from before the question; an answer that comes
 *     after that moment, however good, is a loss;
 *   - "no answer" is never read as no, and never as yes;
 *   - whatever may be ours in the store and is not wanted is taken back: surely ours, where the
 *     protocol cannot tell (it does not settle), for else it could be somebody else's.
 */
#include "lock/machine.h"
#include "core/rules.h"
#include "core/token.h"
#include "lock/machine_inside.h"
#include "lock/pause.h"

enum {
    PAUSE_MAX_MS     = 500, /* between attempts                                              */
    ANEW_MS          = 1,   /* likewise, where the last one told us to make the next         */
    STORE_FIRST_MS   = 50,  /* by which the store's own time limit may come later than ours  */
    REPLICAS_LATE_MS = 250, /* likewise, the answer of replicas, and the release behind it   */
};

static void told(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* ---- what the hold says ---------------------------------------------------------------------- */

void bwl_hold_command(bwl_hold *h, bwl_hold_state next, bwl_command cmd, const bwl_event *ev,
                      bwl_effects *fx)
{
    assert(fx->outcome.kind == BWL_PENDING);
    h->state             = next;
    h->look_at           = BWL_NEVER;
    h->protocol_wakes_at = BWL_NEVER;
    cmd.now              = ev->now;
    cmd.wall_ns          = ev->wall_ns;
    fx->wake_at          = 0;
    h->protocol->command(h->memory, &h->claim, &cmd, fx);
    if (fx->wake_at != 0)
        h->protocol_wakes_at = fx->wake_at;
    if (fx->outcome.kind != BWL_PENDING) /* a protocol that had nothing to ask */
        told(h, ev, fx);
}

void bwl_hold_end(bwl_hold *h)
{
    h->state             = BWL_HOLD_OVER;
    h->look_at           = BWL_NEVER;
    h->protocol_wakes_at = BWL_NEVER;
}

void bwl_hold_over_telling(bwl_hold *h, bwl_outcome_kind kind, bwl_effects *fx)
{
    bwl_hold_end(h);
    bwl_tell(fx, kind);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

bwl_ms bwl_hold_pause_ends_at(bwl_hold *h, const bwl_event *ev)
{
    return bwl_later(ev->now, bwl_pause_ms(h->pauses++, PAUSE_MAX_MS, &ev->fresh));
}

/* Between tries the rules may have a pause of their own. */
static bwl_ms next_try_at(bwl_hold *h, const bwl_event *ev)
{
    bwl_ms pause_ms = h->claim.rules != NULL ? h->claim.rules->pause_ms : 0;

    return pause_ms != 0 ? bwl_later(ev->now, pause_ms) : bwl_hold_pause_ends_at(h, ev);
}

/* ---- acquiring ------------------------------------------------------------------------------- */

static bwl_token_shape token_shape(const bwl_hold *h)
{
    return h->claim.rules != NULL ? h->claim.rules->token : BWL_TOKEN_OURS;
}

void bwl_hold_attempt(bwl_hold *h, bool yields, const bwl_event *ev, bwl_effects *fx)
{
    h->claim.attempt++;
    if (h->protocol->uses_token)
        bwl_token_write_as(h->claim.token, token_shape(h), &ev->fresh, ev->wall_ns);
    h->attempt_ends_at = h->protocol->listens ? BWL_NEVER : bwl_later(ev->now, h->claim.lease_ms);
    bwl_command cmd    = { .verb = BWL_ACQUIRE, .may_wait = !h->last_try, .yields = yields };
    bwl_hold_command(h, BWL_HOLD_ACQUIRING, cmd, ev, fx);
}

static void give_up(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (h->trouble == BWL_UNKNOWN)
        bwl_hold_leave_telling(h, BWL_UNKNOWN, ev, fx);
    else if (h->trouble == BWL_BUSY && h->would_wait)
        bwl_hold_over_telling(h, BWL_TIMED_OUT, fx);
    else
        bwl_hold_over_telling(h, h->trouble, fx);
}

static bool was_last_try(const bwl_hold *h)
{
    unsigned tries_max = h->claim.rules != NULL ? h->claim.rules->tries_max : 0;

    return h->last_try || (tries_max != 0 && h->claim.attempt >= tries_max);
}

/* This attempt is surely not ours.  Pause and try once more, unless the time is over.  A store that
 * could not be reached during all of the wait is not tried again behind it: that could take as long
 * as this attempt did. */
static void no_luck(bwl_hold *h, bwl_outcome_kind trouble, const bwl_event *ev, bwl_effects *fx)
{
    bool is_in_vain = trouble == BWL_UNREACHABLE && ev->now >= h->give_up_at;

    h->trouble = trouble;
    if (was_last_try(h) || is_in_vain) {
        give_up(h, ev, fx);
        return;
    }
    h->state   = BWL_HOLD_WAITING;
    h->look_at = bwl_sooner(next_try_at(h, ev), h->give_up_at);
}

/* Likewise, and the protocol knows that the next one will not be a repetition. */
static void anew(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->trouble = h->last_try ? BWL_NOT_NOW : BWL_BUSY;
    if (h->last_try && ev->now >= h->answer_by) {
        give_up(h, ev, fx);
        return;
    }
    h->state   = BWL_HOLD_WAITING;
    h->look_at = bwl_later(ev->now, ANEW_MS);
    if (!h->last_try) /* which begins when the wait is over, and no later */
        h->look_at = bwl_sooner(h->look_at, h->give_up_at);
}

static bwl_ms settle_by(const bwl_hold *h)
{
    return h->give_up_at > h->answer_by ? h->give_up_at : h->answer_by;
}

/* A question of this attempt had no answer: the lock may be ours in the store. */
static void settle_soon(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->trouble = BWL_UNKNOWN;
    h->state   = BWL_HOLD_SETTLING;
    if (!h->protocol->settles)
        bwl_hold_over_telling(h, BWL_UNKNOWN, fx);
    else if (ev->now >= settle_by(h))
        give_up(h, ev, fx);
    else if (ev->now >= h->attempt_ends_at) /* too late to be of use: the next one, please */
        bwl_hold_let_go(h, BWL_HOLD_DISCARDING, ev, fx);
    else
        h->look_at = bwl_sooner(bwl_hold_pause_ends_at(h, ev), settle_by(h));
}

static void settle(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->now >= settle_by(h) || ev->now >= h->attempt_ends_at)
        settle_soon(h, ev, fx);
    else
        bwl_hold_command(h, BWL_HOLD_SETTLING, (bwl_command){ .verb = BWL_ACQUIRE, .again = true },
                         ev, fx);
}

/* What came too late was given back, or not: then once more, lest our own key stand in our way. */
static void discarded(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool is_refused = h->trouble == BWL_STORE_REFUSED; /* and would be again */

    if (!bwl_hold_is_in_doubt(out->kind) && is_refused)
        bwl_hold_over_telling(h, BWL_STORE_REFUSED, fx);
    else if (!bwl_hold_is_in_doubt(out->kind))
        no_luck(h, h->trouble, ev, fx);
    else if (h->last_try || ev->now >= h->give_up_at)
        bwl_hold_leave_telling(h, h->trouble, ev, fx);
    else
        h->look_at = bwl_sooner(bwl_hold_pause_ends_at(h, ev), h->give_up_at);
}

static void acquired(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    if (out->until > ev->now) {
        bwl_hold_keep(h, out, ev, fx);
    } else if (h->protocol->settles) {
        /* A store as slow as this cannot serve this lease; or that is not all that it must do. */
        h->trouble = out->why != BWL_PENDING ? out->why : BWL_NOT_NOW;
        bwl_hold_let_go(h, BWL_HOLD_DISCARDING, ev, fx);
    } else {
        no_luck(h, BWL_NOT_NOW, ev, fx); /* it has ended by itself, or will */
    }
}

/* Cancelled while a question was out: whatever came of it is known now, and what is surely ours is
 * given back. */
static void abandoned(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    h->answer_by  = bwl_later(ev->now, h->terms.answer_ms);
    h->pauses     = 0;
    h->granted_to = out->until;
    if (out->kind == BWL_HELD && out->until > ev->now)
        bwl_hold_let_go(h, BWL_HOLD_LEAVING, ev, fx);
    else
        bwl_hold_end(h);
}

/* ---- what the protocol told ------------------------------------------------------------------ */

static void sought(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool settling = h->state == BWL_HOLD_SETTLING;
    bool queued   = h->state == BWL_HOLD_QUEUED;

    switch (out->kind) {
    case BWL_HELD: acquired(h, out, ev, fx); break;
    case BWL_QUEUED:
        h->state   = BWL_HOLD_QUEUED;
        h->trouble = BWL_BUSY;
        h->look_at = h->give_up_at;
        break;
    case BWL_BUSY: no_luck(h, BWL_BUSY, ev, fx); break;
    case BWL_FULL: bwl_hold_over_telling(h, BWL_FULL, fx); break;
    case BWL_ANEW: anew(h, ev, fx); break;
    case BWL_UNKNOWN: settle_soon(h, ev, fx); break;
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE: /* says nothing of a question before this one */
        if (settling)
            settle_soon(h, ev, fx);
        else
            no_luck(h, out->kind, ev, fx);
        break;
    case BWL_STORE_REFUSED:
        if (settling)
            bwl_hold_leave_telling(h, BWL_UNKNOWN, ev, fx);
        else if (queued) /* our place may be there still, and somebody behind it */
            bwl_hold_leave_telling(h, BWL_STORE_REFUSED, ev, fx);
        else
            bwl_hold_over_telling(h, BWL_STORE_REFUSED, fx);
        break;
    case BWL_LOST: bwl_hold_not_yielded(h, fx); break;
    case BWL_PENDING:
    case BWL_RELEASED:
    case BWL_TIMED_OUT:
    case BWL_CANCELLED: bwl_unreachable("an acquire does not end so");
    }
}

static void told(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    bwl_outcome out = fx->outcome;

    fx->outcome = (bwl_outcome){ .kind = BWL_PENDING };
    switch (h->state) {
    case BWL_HOLD_ACQUIRING:
    case BWL_HOLD_SETTLING:
    case BWL_HOLD_QUEUED: sought(h, &out, ev, fx); break;
    case BWL_HOLD_ABANDONING: abandoned(h, &out, ev, fx); break;
    case BWL_HOLD_DISCARDING: discarded(h, &out, ev, fx); break;
    case BWL_HOLD_YIELDING: bwl_hold_yielded(h, &out, ev, fx); break;
    case BWL_HOLD_HELD: bwl_hold_told_unasked(h, &out, ev, fx); break;
    case BWL_HOLD_RENEWING: bwl_hold_extended(h, &out, ev, fx); break;
    case BWL_HOLD_RELEASING:
    case BWL_HOLD_LEAVING: bwl_hold_released(h, &out, ev, fx); break;
    case BWL_HOLD_IDLE:
    case BWL_HOLD_WAITING:
    case BWL_HOLD_DISOWNED:
    case BWL_HOLD_OVER: bwl_unreachable("an outcome that nobody asked for");
    }
}

/* ---- our own timer --------------------------------------------------------------------------- */

static void alarm(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    h->look_at = BWL_NEVER;
    switch (h->state) {
    case BWL_HOLD_WAITING:
        if (!h->last_try)
            h->answer_by = bwl_later(bwl_sooner(ev->now, h->give_up_at), h->terms.answer_ms);
        h->last_try = ev->now >= h->give_up_at;
        bwl_hold_attempt(h, false, ev, fx);
        break;
    case BWL_HOLD_SETTLING: settle(h, ev, fx); break;
    case BWL_HOLD_QUEUED: bwl_hold_leave_telling(h, BWL_TIMED_OUT, ev, fx); break;
    case BWL_HOLD_HELD: bwl_hold_renew(h, ev, fx); break;
    case BWL_HOLD_DISOWNED: bwl_hold_leave(h, ev, fx); break;
    case BWL_HOLD_DISCARDING: bwl_hold_let_go(h, BWL_HOLD_DISCARDING, ev, fx); break;
    case BWL_HOLD_RELEASING:
    case BWL_HOLD_LEAVING: bwl_hold_release_again(h, ev, fx); break;
    case BWL_HOLD_RENEWING: /* ends by `until` passing, which is seen before any alarm */
    case BWL_HOLD_IDLE:
    case BWL_HOLD_ACQUIRING:
    case BWL_HOLD_ABANDONING:
    case BWL_HOLD_YIELDING:
    case BWL_HOLD_OVER: bwl_unreachable("no timer is set in these states");
    }
}

/* ---- the door -------------------------------------------------------------------------------- */

/* Our own moments are kept to the ms; the protocol has said in this step how much its own may slip,
 * if it may. */
void bwl_hold_say_when(const bwl_hold *h, bwl_effects *fx)
{
    bwl_ms slack_ms = fx->wake_at == h->protocol_wakes_at ? fx->wake_slack_ms : 0;

    if (bwl_later(h->protocol_wakes_at, slack_ms) > h->look_at)
        slack_ms = 0;
    bwl_wake_about(fx, bwl_sooner(h->look_at, h->protocol_wakes_at), slack_ms);
}

void bwl_hold_init(bwl_hold *h, const bwl_protocol *protocol, unsigned nodes,
                   const bwl_terms *terms)
{
    assert(protocol->state_size <= sizeof h->memory);
    assert(terms->lease_ms > bwl_drift_named_ms(terms->lease_ms, terms->drift_ppm));
    assert(terms->max_hold_ms > 0);
    *h = (bwl_hold){
        .protocol          = protocol,
        .terms             = *terms,
        .claim             = { .drift_ppm   = terms->drift_ppm,
                               .lease_ms    = terms->lease_ms,
                               .rules       = terms->rules,
                               .replicas    = terms->replicas,
                               .replicas_ms = terms->answer_ms },
        .state             = BWL_HOLD_IDLE,
        .look_at           = BWL_NEVER,
        .protocol_wakes_at = BWL_NEVER,
    };
    h->terms.renews = terms->renews && protocol->extends;
    protocol->init(h->memory, nodes);
}

void bwl_hold_acquire(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms give_up_at,
                      bwl_effects *fx)
{
    bwl_event ev = { .now = at.now, .wall_ns = at.wall_ns, .fresh = *fresh };

    assert(h->state == BWL_HOLD_IDLE);
    assert(at.wall_ns != 0 || !h->protocol->uses_wall);
    h->give_up_at = give_up_at;
    h->would_wait = give_up_at > at.now;
    h->last_try   = !h->would_wait;
    h->answer_by  = bwl_later(at.now, h->terms.answer_ms);
    bwl_hold_attempt(h, false, &ev, fx);
    bwl_hold_say_when(h, fx);
}

void bwl_hold_extend(bwl_hold *h, bwl_ms now, bwl_ms lease_ms, bwl_effects *fx)
{
    bwl_event ev = { .now = now };

    assert(bwl_hold_is_held(h));
    assert(h->protocol->extends);
    assert(lease_ms > bwl_drift_named_ms(lease_ms, h->claim.drift_ppm));
    h->claim.lease_ms = lease_ms;
    h->caller_extends = true;
    if (now >= h->until)
        bwl_hold_lose(h, &ev, fx);
    else if (h->state == BWL_HOLD_RENEWING)
        h->extend_again = true;
    else
        bwl_hold_renew(h, &ev, fx);
    bwl_hold_say_when(h, fx);
}

/* Ends the attempt, and tells this. */
static void stop(bwl_hold *h, bwl_ms now, bwl_outcome_kind kind, bwl_effects *fx)
{
    assert(bwl_hold_is_sought(h));
    if (h->state == BWL_HOLD_WAITING) {
        bwl_hold_over_telling(h, kind, fx);
    } else if (h->state != BWL_HOLD_YIELDING && h->protocol->settles) {
        bwl_hold_leave_telling(h, kind, &(bwl_event){ .now = now }, fx);
    } else { /* what is out goes on */
        assert(h->state == BWL_HOLD_YIELDING || h->state == BWL_HOLD_ACQUIRING);
        h->state = h->state == BWL_HOLD_YIELDING ? BWL_HOLD_LEAVING : BWL_HOLD_ABANDONING;
        bwl_tell(fx, kind);
    }
    bwl_hold_say_when(h, fx);
}

void bwl_hold_cancel(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    stop(h, now, BWL_CANCELLED, fx);
}

bwl_ms bwl_hold_told_by(const bwl_hold *h)
{
    bwl_ms slack_ms = STORE_FIRST_MS + (h->claim.replicas > 0 ? REPLICAS_LATE_MS : 0);

    if (!bwl_hold_is_sought(h))
        return BWL_NEVER;
    return bwl_later(h->give_up_at, bwl_later(h->terms.answer_ms, slack_ms));
}

bwl_ms bwl_hold_unsent_by(const bwl_hold *h)
{
    if (h->state == BWL_HOLD_SETTLING)
        return settle_by(h);
    return h->state == BWL_HOLD_ACQUIRING && h->trouble == BWL_UNREACHABLE ? h->give_up_at
                                                                           : BWL_NEVER;
}

void bwl_hold_time_up(bwl_hold *h, bwl_ms now, bwl_effects *fx)
{
    bool is_known = h->state == BWL_HOLD_DISCARDING || h->state == BWL_HOLD_WAITING;

    if (h->state == BWL_HOLD_QUEUED)
        stop(h, now, BWL_TIMED_OUT, fx);
    else if (h->state == BWL_HOLD_WAITING && h->trouble == BWL_BUSY && h->would_wait)
        stop(h, now, BWL_TIMED_OUT, fx);
    else
        stop(h, now, is_known ? h->trouble : BWL_UNKNOWN, fx);
}

void bwl_hold_event(bwl_hold *h, const bwl_event *ev, bwl_effects *fx)
{
    assert(h->state != BWL_HOLD_IDLE);
    if (ev->kind == BWL_PUSH && h->protocol->hears && h->state == BWL_HOLD_WAITING)
        h->look_at = ev->now;
    else if (bwl_hold_is_held(h) && ev->now >= h->until) {
        bwl_hold_lose(h, ev, fx);
    } else if (ev->kind == BWL_ALARM && ev->now >= h->look_at) {
        alarm(h, ev, fx);
    } else if (h->state != BWL_HOLD_OVER && h->state != BWL_HOLD_DISOWNED &&
               (ev->kind != BWL_ALARM || ev->now >= h->protocol_wakes_at)) {
        if (ev->kind == BWL_ALARM)
            h->protocol_wakes_at = BWL_NEVER;
        h->protocol->event(h->memory, &h->claim, ev, fx);
        if (fx->wake_at != 0)
            h->protocol_wakes_at = fx->wake_at;
        if (fx->outcome.kind != BWL_PENDING)
            told(h, ev, fx);
    }
    bwl_hold_say_when(h, fx);
}

bool bwl_hold_is_held(const bwl_hold *h)
{
    return h->state == BWL_HOLD_HELD || h->state == BWL_HOLD_RENEWING;
}

bool bwl_hold_is_sought(const bwl_hold *h)
{
    return h->state == BWL_HOLD_ACQUIRING || h->state == BWL_HOLD_SETTLING ||
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
