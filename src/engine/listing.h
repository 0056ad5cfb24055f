/*
 * listing.h -- what engines share to list the held names (bwl_engine.list).
 *
 * The listing belongs to a lock that is never acquired, because the requests of a step pin that
 * lock and may outlive the caller.  Its `found` has the names of the latest step.
 */
#pragma once

#include "engine/engine.h"

/* Gives the lock a listing of the names that match a pattern without a fault.  NOMEM. */
int  bwl_listing_new(bwl_engine_lock *lock, const char *pattern, bwl_fault *fault);
void bwl_listing_free(bwl_engine_lock *lock); /* also without a listing */

/* Whether it is the name of a lock and matches the pattern. */
bool bwl_listing_wants(const bwl_listing *listing, const char *name, size_t size);

/* Appends a name to `found`; the holder is not set.  Valid until the next one is added.  NULL: out
 * of memory, and the fault says so. */
bwl_listed *bwl_listing_add(bwl_listing *listing, const char *name, size_t size);
