/*
 * machine_inside.h -- what the files of this room share.  See machine.h.
 */
#ifndef BWL_LOCK_MACHINE_INSIDE_H
#define BWL_LOCK_MACHINE_INSIDE_H

#include "lock/machine.h"

/* machine.c */
/* Hands the protocol a command; what it tells at once is acted on. */
void bwl_hold_command(bwl_hold *h, bwl_hold_state next, bwl_command cmd, const bwl_event *ev,
                      bwl_effects *fx);

/* The caller is told `kind`, and that was all. */
void bwl_hold_end_with(bwl_hold *h, bwl_outcome_kind kind, bwl_effects *fx);

/* That was all, and nobody is told. */
void bwl_hold_end(bwl_hold *h);

/* When the next pause of a row of them ends. */
bwl_ms bwl_hold_pause_ends_at(bwl_hold *h, const bwl_event *ev);

/* Asks for it by a new token; `yields`: it is ours by the former one. */
void bwl_hold_attempt(bwl_hold *h, bool yields, const bwl_event *ev, bwl_effects *fx);

/* What `wake_at` is, after a call that came from above. */
void bwl_hold_set_timer(const bwl_hold *h, bwl_effects *fx);

/* release.c */
/* Commands it; the state says what for. */
void bwl_hold_send_release(bwl_hold *h, bwl_hold_state next, const bwl_event *ev, bwl_effects *fx);

/* What may be ours in the store is taken back, and nobody waits for that. */
void bwl_hold_leave(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* The caller is told `kind` and is done; what may be ours in the store is taken back. */
void bwl_hold_leave_with(bwl_hold *h, bwl_outcome_kind kind, const bwl_event *ev, bwl_effects *fx);

/* A release came out so: may it be ours in the store still? */
bool bwl_release_may_have_failed(bwl_outcome_kind released);

/* Likewise, of one that we asked for, or that nobody waits for. */
void bwl_hold_released(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* Its pause is over. */
void bwl_hold_release_again(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* yield.c */
/* It was not ours to give. */
void bwl_hold_not_yielded(bwl_hold *h, bwl_effects *fx);

/* How the release came out. */
void bwl_hold_yielded(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* renew.c */
/* It is ours, until later than now. */
void bwl_hold_keep(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* Its time is over. */
void bwl_hold_lose(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

void bwl_hold_renew(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* How an extension came out. */
void bwl_hold_extended(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev, bwl_effects *fx);

/* While we hold, the protocol has found out that it is ours for longer, or not any more, or that
 * whoever renews it for us cannot. */
void bwl_hold_unsolicited(bwl_hold *h, const bwl_outcome *out, const bwl_event *ev,
                          bwl_effects *fx);

#endif
