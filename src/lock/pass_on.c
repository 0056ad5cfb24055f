/*
 * pass_on.c -- see pass_on.h.
 */
#include "lock/pass_on.h"

#include <string.h>

enum { DUE = 1 }; /* ms: the earliest time; 0 is no time, see bwl_wake_at */

void bwl_hold_adopt(bwl_hold *h, const char *previous_token, const bwl_random *fresh, bwl_moment at,
                    bwl_ms wait_deadline, bwl_effects *fx)
{
    size_t size = strlen(previous_token);

    assert(h->protocol->uses_token && h->protocol->can_verify_owner);
    assert(size > 0 && size <= BWL_OTHER_TOKEN_MAX);
    memcpy(h->other_token, previous_token, size + 1);
    h->adopts = true;
    bwl_hold_acquire(h, fresh, at, wait_deadline, fx);
}

void bwl_hold_give_up(bwl_hold *h)
{
    assert(bwl_hold_is_held(h));
    assert(h->protocol->can_verify_owner);
    h->state             = BWL_HOLD_OVER;
    h->timer_at          = BWL_NEVER;
    h->protocol_wakes_at = BWL_NEVER;
}

void bwl_hold_move(bwl_hold *to, bwl_hold *from)
{
    bwl_hold own = *to;

    assert(bwl_hold_is_held(to) && bwl_hold_is_held(from));
    *to                   = *from;
    to->terms.lease_ms    = own.terms.lease_ms;
    to->terms.max_hold_ms = own.terms.max_hold_ms;
    to->request.lease_ms  = own.request.lease_ms;
    to->fence             = own.fence;
    to->ends_at           = own.ends_at;
    to->until             = bwl_ms_min(from->until, own.ends_at);
    to->state             = BWL_HOLD_HELD;
    to->timer_at          = DUE;
    to->caller_extends    = false;
    to->extend_again      = false;
    bwl_hold_give_up(from);
}
