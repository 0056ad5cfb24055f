/*
 * pass_on.c -- a hold that goes from one client to another: given up by one, adopted by the other.
 *
 *      HELD --give up--> OVER             nothing is sent: the store keeps the token and its lease
 *      IDLE --adopt--> ACQUIRING --> HELD the store replaces that token by a new one, once
 *
 * The store compares the token, so of two clients that adopt the same hold one is LOST.  What the
 * first client has sent before it gave up can only extend or release its own token: before the
 * adoption that changes nothing, or makes the adoption LOST; after it, it does nothing.
 */
#include "lock/machine.h"

#include <string.h>

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
