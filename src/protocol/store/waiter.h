/*
 * waiter.h -- what a thread says to those of its own client that want the same name
 * (lock/local_group.h), and what it is told.
 *
 *  ENQUEUE      sits down behind all who wait here                       NO QUEUED, or at once YES
 *  EXTEND   whose turn it is: for lease from now                     YES, or NO and why
 *  LEAVE    ends the turn, or does not wait any longer               YES, or NO and why
 *
 * YES to LEAVE: it was ours, or we had not got it yet.  Any other YES: the lock is ours until
 * `until`, by the fence `number`.  A NO says in `number` how it came out, as a bwl_outcome_kind.
 *
 * A PUSH says the same unasked: YES it is our turn, or ours for longer; NO it is lost, or will not
 * be had, or (while we hold) the renewal goes wrong, though it is ours still.
 */
#ifndef BWL_PROTOCOL_STORE_WAITER_H
#define BWL_PROTOCOL_STORE_WAITER_H

typedef enum bwl_waiter_command {
    WAITER_ENQUEUE = 1,
    WAITER_EXTEND,
    WAITER_LEAVE
} bwl_waiter_command;

#endif
