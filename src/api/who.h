/*
 * who.h -- who holds a name: the query, and its answer for a caller who did not get the lock.
 */
#pragma once

#include "api/handles.h"

/* locked: a lock for bwl_lock_query_holder, which is never acquired.  USAGE (the name), NOMEM,
 * SYSTEM. */
int bwl_lock_for_who(bwl_lock **ret_lock, bwl_shard *shard, const char *name,
                     bowline_error *reterr);

/* locked: asks, and waits for the answer until then.  As bowline_who; TIMEOUT. */
int bwl_ask_who(bwl_shard *shard, const char *name, bwl_ms until, bwl_holder *ret_holder,
                bowline_error *reterr);

/* locked: adds to the text of BUSY or TIMEOUT who holds the name, if the store says so in time. */
void bwl_describe_holder(bwl_shard *shard, const char *name, bwl_ms until, bowline_error *error);
