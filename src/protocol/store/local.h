/*
 * local.h -- the commands of a store that keeps the queue itself, and their meaning: the table of
 * threads in this process, or the lock files of this machine.
 *
 *  JOIN      the queue is empty and the request fits -> granted             YES, number = fence
 *            otherwise -> an entry at the end of the queue                  NO,  number: below
 *            the internal lock of the store is taken: send it again soon    RETRYABLE
 *  JOIN_OR_LEAVE
 *            as JOIN, but never adds an entry                               NO
 *  TRY       the entry is first and the request fits -> granted             YES, number = fence
 *            the entry is gone (the file was replaced): send JOIN again     RETRYABLE
 *            otherwise                                                      NO,  number: below
 *  LEAVE     held: the lock is released, for the next waiter
 *            in the queue: the entry is removed
 *            neither: nothing                                               YES
 *
 * Of a store that reads the share of a request, while the lock is held:
 *
 *  DOWNGRADE the hold is shared now, by any number; waiters that fit are
 *            granted the lock                                               YES, number = fence
 *  UPGRADE   nobody else holds the lock -> the hold is exclusive now        YES, number = fence
 *            otherwise -> nothing                                           NO
 *
 * A request fits if the lock is free.  In a store that reads the share of a request (the table of
 * threads), it also fits beside others that share the lock: `limit` is 0, or the permits in use and
 * `weight` are at most `limit`.  The queue is that of the waiters.
 *
 * The number of a NO to JOIN or TRY says what the store does when the first waiter fits:
 *
 *  WILL_GRANT   it grants the lock to that waiter, and to the next as long as one fits: a PUSH with
 *               YES and a fence
 *  WILL_PUSH    it says when a TRY may succeed: a PUSH with NO
 *  WILL_NOT     it pushes nothing: send TRY from time to time
 *
 * A PUSH comes after the reply to JOIN, never before it.
 */
#pragma once

typedef enum bwl_local_command {
    LOCAL_JOIN = 1,
    LOCAL_JOIN_OR_LEAVE,
    LOCAL_TRY,
    LOCAL_LEAVE,
    LOCAL_DOWNGRADE,
    LOCAL_UPGRADE,
} bwl_local_command;

enum { LOCAL_WILL_PUSH = 0, LOCAL_WILL_NOT = 1, LOCAL_WILL_GRANT = 2 };
