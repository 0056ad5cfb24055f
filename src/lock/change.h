/*
 * change.h -- the mode of a held lock changes: the part of the lock machine that knows what a
 * change without a reply may have done.  machine.c alone calls it.
 *
 * A change is an extension that does one thing more, so it is sent like one, and each reply to it
 * extends the hold.
 *
 *      exclusive --downgrade--> shared       by the same token.  The hold counts as shared from the
 *                                            moment the command is sent: it only gives up rights
 *      shared ----upgrade-----> exclusive    by a new token, `other_token`, also if the reply is
 *                                            BUSY: shared as before.  Until the reply the hold
 *                                            counts as shared
 *
 * Without a reply it is sent again, until answer_deadline for the caller, and then in place of each
 * renewal: any reply says what the store has.  What was sent with the former token and comes late
 * has no effect, as the store has that one no more.  A second upgrade that comes late can make the
 * lock exclusive that the hold counts as shared; its next renewal opens it again.
 *
 * While an upgrade has no reply, the store has the lock by one of two tokens.  A hold that ends
 * releases the former one first, and then the other one: an upgrade needs a share by one of them.
 */
#pragma once

#include "lock/machine.h"

/* Before the first command: EXTEND then has the change. */
void bwl_change_begin(bwl_hold *h, bwl_change kind, const bwl_random *fresh, bwl_moment at);

/* The command that extends the hold, with the change if there is one without a reply. */
bwl_command bwl_change_command(const bwl_hold *h);

/* HELD, or BUSY: the reply to that command.  True: the result of the caller is BUSY. */
bool bwl_change_ended(bwl_hold *h, const bwl_outcome *out);

/* It has no reply that says what the store has; writes the result for the caller.  True: the caller
 * still waits, and it must be sent again. */
bool bwl_change_failed(bwl_hold *h, bwl_outcome_kind *result, bwl_ms now);
