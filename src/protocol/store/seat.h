/*
 * seat.h -- what a thread says to those of its own client that want the same name
 * (lock/local_group.h), and what it is told.
 *
 *  SIT      sits down behind all who wait here                       NO QUEUED, or at once YES
 *  EXTEND   whose turn it is: for lease from now                     YES, or NO and why
 *  LEAVE    ends the turn, or does not wait any longer               YES, or NO and why
 *
 * YES to LEAVE: it was ours, or we had not got it yet.  Any other YES: the lock is ours until
 * `until`, by the fence `number`.  A NO says in `number` how it came out, as a bwl_outcome_kind.
 *
 * A PUSH says the same unasked: YES it is our turn, or ours for longer; NO it is lost, or will not
 * be had, or (while we hold) the renewal goes wrong, though it is ours still.
 */
#ifndef BWL_PROTOCOL_STORE_SEAT_H
#define BWL_PROTOCOL_STORE_SEAT_H

typedef enum bwl_seat_word { SEAT_SIT = 1, SEAT_EXTEND, SEAT_LEAVE } bwl_seat_word;

#endif
