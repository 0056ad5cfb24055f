/*
 * pass_on.h -- a hold that goes from one client to another: given up by one, adopted by the other.
 * Or from one lock to another of the same client.
 *
 *      HELD --give up--> OVER             nothing is sent: the store keeps the token and its lease
 *      IDLE --adopt--> ACQUIRING --> HELD the store replaces that token by a new one, once
 *
 * The store compares the token, so of two clients that adopt the same hold one is LOST.  What the
 * first client has sent before it gave up can only extend or release its own token: before the
 * adoption that changes nothing, or makes the adoption LOST; after it, it does nothing.
 */
#pragma once

#include "lock/machine.h"

/* As bwl_hold_acquire, for a lock that another client has held with `previous_token`, and has given
 * up to this one by bwl_hold_give_up.  LOST: the store does not have that token any more, or
 * another client has adopted it.  Attempts are repeated only while the store cannot be reached. */
void bwl_hold_adopt(bwl_hold *h, const char *previous_token, const bwl_random *fresh, bwl_moment at,
                    bwl_ms wait_deadline, bwl_effects *fx);

/* Only while held: the hold is over without a release, for another client to adopt.  No command is
 * sent any more; one that is in flight can only extend this token.  There is no outcome. */
void bwl_hold_give_up(bwl_hold *h);

/* Both are held, `from` in the store for `to`: `to` goes on in the place of `from`, which is given
 * up.  It keeps its own lease, fence and end of max_hold.  There is no outcome.  A reply to a
 * command of `from` counts no more, so its renewal is due at once. */
void bwl_hold_move(bwl_hold *to, bwl_hold *from);
