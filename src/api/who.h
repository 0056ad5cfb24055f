/*
 * who.h -- holder queries: bowline_who, and the holder in the error text of a failed acquire.
 */
#pragma once

#include "api/handles.h"

/* locked: a lock for bwl_lock_query_holder, which is never acquired.  USAGE (the name), NOMEM,
 * SYSTEM. */
int bwl_lock_for_who(bwl_lock **ret_lock, bwl_shard *shard, const char *name,
                     bowline_error *reterr);

/* locked: queries the holder, and waits for the reply until `until`.  As bowline_who; TIMEOUT. */
int bwl_ask_who(bwl_shard *shard, const char *name, bwl_ms until, bwl_holder *ret_holder,
                bowline_error *reterr);

/* locked: adds the holder to the text of BUSY or TIMEOUT, if the store replies in time. */
void bwl_describe_holder(bwl_shard *shard, const char *name, bwl_ms until, bowline_error *error);
