/*
 * several.h -- acquires several locks, all or none, for one operation of the caller.
 *
 * First all are tried at once.  If each is free, that is all.  Otherwise those before the first one
 * that is busy are kept, in the order of the names, and the others are released; then it waits for
 * that one, and tries the rest again.  So a client that waits holds only names that come before the
 * one that it waits for.  All clients have the same order: they never wait in a circle.  (Havender,
 * Avoiding deadlock in multitasking systems, 1968.)  Each wait is in the queue of its lock.  If a
 * lock is lost while another one is waited for, all are released, and tried again.
 *
 * several -> lock, local_groups.  Every function needs the shard's mutex.
 */
#pragma once

#include "runtime/lock.h"

typedef struct bwl_several bwl_several;

/* For `count` names, which are all different.  `whole` is the operation that ends with it; it must
 * live as long.  wait_ms 0: no wait.  USAGE (a name), NOMEM, SYSTEM. */
int bwl_several_new(bwl_several **ret_several, bwl_operation *whole, bwl_shard *shard,
                    const char *const names[], size_t count, const bwl_terms *terms, bwl_ms wait_ms,
                    bwl_fault *fault);

/* Begins.  `whole` may have completed on return. */
void bwl_several_start(bwl_several *s);

/* Completes `whole` as CANCELLED, unless it has completed.  No lock is held any more. */
void bwl_several_cancel(bwl_several *s);

/* After an end without the locks: what kept it from going on.  BWL_OK: the outcome of
 * bwl_several_decisive. */
int bwl_several_fault(const bwl_several *s, bwl_fault *fault);

/* The acquire that decided the end, or that is waited for.  NULL: none. */
const bwl_operation *bwl_several_decisive(const bwl_several *s);

/* `whole` is HELD: writes the locks in the order of the names in bwl_several_new.  Their handles
 * belong to the caller. */
void bwl_several_take(bwl_several *s, bwl_lock *ret_locks[]);

/* Cancels it and frees it, with the locks that were not taken. */
void bwl_several_free(bwl_several *s);
