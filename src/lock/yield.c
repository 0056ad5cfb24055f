/*
 * yield.c -- hands the lock to the next waiter, and acquires it again.  See machine.h.
 *
 * If the protocol does this in one step, the attempt has a new token while the store has the lock
 * by the previous one, and the protocol leaves neither of them behind.  Otherwise a release comes
 * first.  If that has no reply, no acquire follows: the caller gets the outcome of the release, and
 * the release goes on in the background.
 */
#include "lock/machine_inside.h"

#include <string.h>

static void keep_previous_token(bwl_hold *h)
{
    size_t size = strlen(h->request.token);

    assert(h->protocol->uses_token);
    assert(size <= BWL_PREVIOUS_TOKEN_MAX);
    memcpy(h->previous_token, h->request.token, size + 1);
}

static void begin(bwl_hold *h, const bwl_event *ev, bwl_ms wait_deadline, bwl_effects *fx)
{
    h->request.attempt = 0; /* as many attempts as an acquire has */
    h->wait_deadline   = wait_deadline;
    h->answer_deadline = bwl_ms_add(ev->now, h->terms.answer_ms);
    h->would_wait      = true;
    h->last_try        = false;
    h->last_error      = BWL_PENDING;
    h->caller_extends  = false;
    h->extend_again    = false;
    if (h->protocol->yields) {
        keep_previous_token(h);
        bwl_hold_attempt(h, true, ev, fx);
    } else {
        bwl_hold_send_release(h, BWL_HOLD_YIELDING, ev, fx);
    }
}

void bwl_hold_yield(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms wait_deadline,
                    bwl_effects *fx)
{
    bwl_event ev = { .now = at.now, .wall_ns = at.wall_ns, .fresh = *fresh };

    assert(bwl_hold_is_held(h));
    assert(wait_deadline > at.now);
    assert(at.wall_ns != 0 || !h->protocol->uses_wall);
    if (at.now >= h->until)
        bwl_hold_lose(h, &ev, fx);
    else
        begin(h, &ev, wait_deadline, fx);
    bwl_hold_set_timer(h, fx);
}

void bwl_hold_not_yielded(bwl_hold *h, bwl_effects *fx)
{
    assert(h->state == BWL_HOLD_ACQUIRING);
    assert(h->previous_token[0] != '\0');
    bwl_hold_end_with(h, BWL_LOST, fx);
}

void bwl_hold_yielded(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx)
{
    bool may_be_ours = bwl_release_may_have_failed(out->kind) || out->kind == BWL_STORE_REFUSED;

    if (out->kind == BWL_RELEASED) {
        h->last_try        = ev->now >= h->wait_deadline;
        h->answer_deadline = bwl_ms_add(ev->now, h->terms.answer_ms);
        bwl_hold_attempt(h, false, ev, fx);
    } else if (may_be_ours && h->protocol->can_verify_owner) {
        bwl_hold_leave_with(h, out->kind, ev, fx);
    } else {
        bwl_hold_end_with(h, out->kind, fx);
    }
}
