/*
 * timestamps.h -- arithmetic with the timestamps in the values of compat_rules.h.
 */
#ifndef BWL_TIMESTAMPS_H
#define BWL_TIMESTAMPS_H

#include "protocol/format/compat_rules.h"

/* The timestamp of a lock that begins at wall_ns; 0 if the rules have none. */
int64_t bwl_timestamp_at(const bwl_compat_rules *rules, int64_t wall_ns, bwl_ms lease_ms);

/* True from the first second of 2001 to the last of 2099, and for rules that never compare a
 * timestamp with the time.  A small number and a time in another unit are outside this range. */
bool bwl_timestamp_is_plausible(const bwl_compat_rules *rules, int64_t timestamp);

/* True if the timestamp has expired.  With timestamp_is_start this uses the lease of this client:
 * the lease of the other client is not known. */
bool bwl_timestamp_has_expired(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                               bwl_ms lease_ms);

/* True if the timestamp is more than rules->guard_ms ahead of wall_ns. */
bool bwl_timestamp_is_ahead(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                            bwl_ms lease_ms);

/* Milliseconds from wall_ns until the timestamp expires, rounded down; negative: it has expired. */
bwl_ms bwl_timestamp_left_ms(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                             bwl_ms lease_ms);

#endif
