/*
 * background_release.h -- releases that no caller waits for: how many are in flight, and which have
 * failed.
 *
 * The lock lives until its release has completed, as every lock does.  A release that succeeded is
 * forgotten.  The lock of one that failed is kept in a list until it is reported, so that nothing
 * is allocated at that moment; beyond BWL_UNREPORTED_MAX they are counted only.
 *
 * The thread that runs the loop next reads their replies.  The renewal thread leaves that to the
 * next call for a short time: otherwise a thread that acquires the next lock at once would have to
 * take the loop over from it.
 *
 * background_release -> lock.  The lock reaches it through `completed`.  Every function needs the
 * shard's mutex.
 */
#pragma once

#include "runtime/lock.h"

enum {
    BWL_BACKGROUND_MAX = 1000, /* in flight at a time: the next release blocks */
    BWL_UNREPORTED_MAX = 64,
};

/* Starts the release of a lock that has no operation in flight; the caller drops its handle.  True:
 * it has completed already, with the result in the operation, and the handle still exists; false:
 * it continues in the background. */
bool bwl_lock_release_in_background(bwl_lock *lock, bwl_operation *operation);

/* Takes the oldest that failed from the list: `ended_as` is the result.  Drop it with
 * bwl_lock_drop_handle.  NULL: there is none. */
bwl_lock *bwl_background_take(bwl_shard *shard);

/* Returns how many more failed, and writes how many of those had lost the lock; resets both
 * counters. */
size_t bwl_background_take_dropped(bwl_shard *shard, size_t *ret_lost);

/* The command of a background release was handed to the kernel; it was answered, or never will
 * be. */
void bwl_background_sent(bwl_shard *shard);
void bwl_background_answered(bwl_shard *shard);
