/*
 * background_release.h -- releases that nobody waits for: how many are under way, and which have
 * gone wrong.
 *
 * The lock itself goes on living until its release has ended, as every lock does.  One that ended
 * well is forgotten.  One that did not is kept in a list until somebody asks, as it is, so that
 * nothing has to be allocated when it happens; those beyond BWL_UNREPORTED_MAX are counted only.
 *
 * Their answers are read by whoever drives next.  The keeper leaves that to the next call for a
 * moment: a thread that takes the next lock at once would have to take its turn from the keeper.
 */
#ifndef BWL_RUNTIME_BACKGROUND_RELEASE_H
#define BWL_RUNTIME_BACKGROUND_RELEASE_H

#include "runtime/shard.h"

enum {
    BWL_BACKGROUND_MAX = 1000, /* under way at a time: one more is waited for               */
    BWL_UNREPORTED_MAX = 64,
};

/* locked: starts the release of a lock that has no operation under way, and whose handle the caller
 * gives up with it.  True: it has ended already, as the operation says, and the handle is still
 * there; false: nobody waits for it. */
bool bwl_lock_release_in_background(bwl_lock *lock, bwl_operation *operation);

/* locked: a release that nobody waits for has ended. */
void bwl_background_ended(bwl_lock *lock, bwl_outcome_kind kind);

/* locked: the oldest that ended badly, no longer kept (ended_as says how); to be given up with
 * bwl_lock_drop_handle.  NULL: there is none. */
bwl_lock *bwl_background_take(bwl_shard *shard);

/* locked: how many more did, and how many of those were lost; they begin at 0 again. */
size_t bwl_background_take_dropped(bwl_shard *shard, size_t *ret_lost);

/* locked: the question of such a release was handed over to the kernel; and is answered, or will
 * not be. */
void bwl_background_sent(bwl_shard *shard);
void bwl_background_answered(bwl_shard *shard);

#endif
