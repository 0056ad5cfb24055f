/*
 * waiter.h -- the commands of a thread to the local group of its client (lock/local_group.h), and
 * the replies.  The details of every reply and push are a bwl_outcome.
 *
 *  ENQUEUE  enters the group behind its other waiters                NO with QUEUED, or YES at once
 *  EXTEND   the active waiter: sets the lease to lease from now      YES, or NO with the reason
 *  LEAVE    releases the lock, or ends the wait                      YES, or NO with the reason
 *
 * YES to ENQUEUE or EXTEND: the waiter holds the lock until `until` of the details, with their
 * fence.  YES to LEAVE: released, or the wait has ended.  NO: `kind` of the details is the reason.
 *
 * A PUSH says the same without a command: YES: granted, or held for longer; NO: the lock is lost,
 * or the wait has failed, or the renewal of a lock that is still held has failed.
 */
#pragma once

typedef enum bwl_waiter_command {
    WAITER_ENQUEUE = 1,
    WAITER_EXTEND,
    WAITER_LEAVE
} bwl_waiter_command;
