/*
 * stamps.h -- reckoning with times of day that stand in a value.  See core/rules.h.
 */
#ifndef BWL_STAMPS_H
#define BWL_STAMPS_H

#include "core/rules.h"

/* What a lock that begins at this time of day writes; 0 where the rules have no stamp. */
int64_t bwl_stamp_at(const bwl_rules *rules, int64_t wall_ns, bwl_ms lease_ms);

/* Is it a time that a program of these rules can have written: from the first second of 2001 to the
 * last of 2099?  A small number, and a time in another unit, are outside of that.  True for rules
 * that never compare a stamp with the time. */
bool bwl_stamp_is_plausible(const bwl_rules *rules, int64_t stamp);

/* Has it expired?  For a stamp_is_start the lease is ours: nobody knows the other's. */
bool bwl_stamp_has_expired(const bwl_rules *rules, int64_t stamp, int64_t wall_ns, bwl_ms lease_ms);

/* Is it more than rules->guard_ms ahead? */
bool bwl_stamp_is_ahead(const bwl_rules *rules, int64_t stamp, int64_t wall_ns, bwl_ms lease_ms);

/* How long from this time of day a stamp is good for, rounded down; below 0: it is over. */
bwl_ms bwl_stamp_worth_ms(const bwl_rules *rules, int64_t stamp, int64_t wall_ns, bwl_ms lease_ms);

#endif
