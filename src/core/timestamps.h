/*
 * timestamps.h -- reckoning with times of day that stand in a value.  See core/compat_rules.h.
 */
#ifndef BWL_TIMESTAMPS_H
#define BWL_TIMESTAMPS_H

#include "core/compat_rules.h"

/* What a lock that begins at this time of day writes; 0 where the rules have no stamp. */
int64_t bwl_timestamp_at(const bwl_compat_rules *rules, int64_t wall_ns, bwl_ms lease_ms);

/* Is it a time that a program of these rules can have written: from the first second of 2001 to the
 * last of 2099?  A small number, and a time in another unit, are outside of that.  True for rules
 * that never compare a stamp with the time. */
bool bwl_timestamp_is_plausible(const bwl_compat_rules *rules, int64_t timestamp);

/* Has it expired?  For a timestamp_is_start the lease is ours: nobody knows the other's. */
bool bwl_timestamp_has_expired(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                               bwl_ms lease_ms);

/* Is it more than rules->guard_ms ahead? */
bool bwl_timestamp_is_ahead(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                            bwl_ms lease_ms);

/* How long from this time of day a stamp is good for, rounded down; below 0: it is over. */
bwl_ms bwl_timestamp_left_ms(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                             bwl_ms lease_ms);

#endif
