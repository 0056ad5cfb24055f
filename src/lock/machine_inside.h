/*
 * machine_inside.h -- internal functions that the files of the lock machine share.  See machine.h.
 */
#ifndef BWL_LOCK_MACHINE_INSIDE_H
#define BWL_LOCK_MACHINE_INSIDE_H

#include "lock/machine.h"

/* machine.c */
/* Passes a command to the protocol, and handles an outcome that it has at once. */
void bwl_hold_command(bwl_hold *h, bwl_hold_state next, bwl_command cmd, const bwl_event *ev,
                      bwl_effects *fx);

/* Ends the hold with the outcome `kind` for the caller. */
void bwl_hold_end_with(bwl_hold *h, bwl_outcome_kind kind, bwl_effects *fx);

/* Ends the hold without an outcome. */
void bwl_hold_end(bwl_hold *h);

/* The end of the next pause of the backoff. */
bwl_ms bwl_hold_pause_ends_at(bwl_hold *h, const bwl_event *ev);

/* Starts an attempt with a new token; `yields`: the lock is held by the previous one. */
void bwl_hold_attempt(bwl_hold *h, bool yields, const bwl_event *ev, bwl_effects *fx);

/* Sets fx->wake_at after a call from above. */
void bwl_hold_set_timer(const bwl_hold *h, bwl_effects *fx);

/* release.c */
/* Sends RELEASE; the state `next` is the reason. */
void bwl_hold_send_release(bwl_hold *h, bwl_hold_state next, const bwl_event *ev, bwl_effects *fx);

/* Releases in the background what the store may have with the token of this attempt. */
void bwl_hold_leave(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* Reports `kind` to the caller, and then does the same. */
void bwl_hold_leave_with(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx);

/* True if the store may still have the lock after a release with this outcome. */
bool bwl_release_may_have_failed(bwl_outcome_kind released);

/* Handles the outcome of a release, in RELEASING and in LEAVING. */
void bwl_hold_released(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* Sends the release again after its pause. */
void bwl_hold_release_again(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* yield.c */
/* The lock was not held, so it cannot be yielded. */
void bwl_hold_not_yielded(bwl_hold *h, bwl_effects *fx);

/* Handles the outcome of the release before a yield. */
void bwl_hold_yielded(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* renew.c */
/* The lock is held, until later than now. */
void bwl_hold_keep(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* The lease is over. */
void bwl_hold_lose(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

void bwl_hold_renew(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* Handles the outcome of an extension. */
void bwl_hold_extended(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* While held: the protocol reports a later end, a loss, or a failed renewal without a command. */
void bwl_hold_unsolicited(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev,
                          bwl_effects *fx);

#endif
