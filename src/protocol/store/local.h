/*
 * local.h -- what we say to a store that keeps the queue itself: the table of threads of this
 * process, or the lock files of this machine.
 *
 *  JOIN      nobody holds the name and nobody waits -> it is ours           YES, number = fence
 *            otherwise we stand at the end of its queue                     NO,  number: below
 *            the store's own latch is taken: ask the same again soon        RETRYABLE
 *  JOIN_OR_LEAVE
 *            as JOIN, but when it is not ours at once we do not stand there NO
 *  TRY       we stand at the head and nobody holds it -> it is ours         YES, number = fence
 *            our place is gone (the file was replaced): JOIN again          RETRYABLE
 *            otherwise                                                      NO,  number: below
 *  LEAVE     we hold it: the next in line may have it
 *            we wait: we leave the queue
 *            we stand nowhere: nothing                                      YES
 *
 * The number of a NO to JOIN or TRY says how we shall learn that it is our turn:
 *
 *  WILL_GRANT   the store gives it to us: a PUSH with YES and a fence
 *  WILL_PUSH    the store tells us when it is worth a TRY, now or in a moment: a PUSH with NO
 *  WILL_NOT     it does not tell us: look
 *
 * A PUSH comes after the answer to JOIN, never before it.
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
