/*
 * local.h -- the commands of a store that keeps the queue itself, and their meaning: the table of
 * threads in this process, or the lock files of this machine.
 *
 *  JOIN      the lock is free and the queue is empty -> it is ours          YES, number = fence
 *            otherwise we enter the queue at its end                        NO,  number: below
 *            the internal lock of the store is taken: send it again soon    RETRYABLE
 *  JOIN_OR_LEAVE
 *            as JOIN, but if the lock is not ours at once, we do not queue  NO
 *  TRY       we are first in the queue and the lock is free -> it is ours   YES, number = fence
 *            our entry is gone (the file was replaced): send JOIN again     RETRYABLE
 *            otherwise                                                      NO,  number: below
 *  LEAVE     we hold the lock: the next waiter may have it
 *            we are in the queue: we leave it
 *            neither: nothing                                               YES
 *
 * The number of a NO to JOIN or TRY says how we learn that the lock is ours, or free:
 *
 *  WILL_GRANT   the store grants it: a PUSH with YES and a fence
 *  WILL_PUSH    the store says when a TRY may succeed: a PUSH with NO
 *  WILL_NOT     the store says nothing: send TRY from time to time
 *
 * A PUSH comes after the reply to JOIN, never before it.
 */
#ifndef BWL_PROTOCOL_STORE_LOCAL_H
#define BWL_PROTOCOL_STORE_LOCAL_H

typedef enum bwl_local_command {
    LOCAL_JOIN = 1,
    LOCAL_JOIN_OR_LEAVE,
    LOCAL_TRY,
    LOCAL_LEAVE,
} bwl_local_command;

enum { LOCAL_WILL_PUSH = 0, LOCAL_WILL_NOT = 1, LOCAL_WILL_GRANT = 2 };

#endif
