/*
 * timestamps.c -- see timestamps.h.
 *
 * Times are compared in the unit of the timestamp, as the other programs do: they have no finer
 * time.  The timestamp of another program may be any number, so nothing here overflows.
 */
#include "protocol/format/timestamps.h"

#define NS_IN_MS        INT64_C(1000000)
#define NS_IN_S         INT64_C(1000000000)
#define START_OF_2001_S INT64_C(978307200)
#define START_OF_2100_S INT64_C(4102444800)

/* The time from the start of a lock to its end, in ns. */
static int64_t length_ns(const bwl_compat_rules *rules, bwl_ms lease_ms)
{
    assert(lease_ms < INT64_MAX / NS_IN_MS / 2);
    return lease_ms * NS_IN_MS + rules->extra_ns;
}

int64_t bwl_timestamp_at(const bwl_compat_rules *rules, int64_t wall_ns, bwl_ms lease_ms)
{
    if (rules->unit_ns == 0)
        return 0;
    int64_t length = length_ns(rules, lease_ms);
    if (rules->timestamp_is_start)
        return wall_ns / rules->unit_ns;
    return (wall_ns > INT64_MAX - length ? INT64_MAX : wall_ns + length) / rules->unit_ns;
}

bool bwl_timestamp_is_plausible(const bwl_compat_rules *rules, int64_t timestamp)
{
    if (rules->unit_ns == 0 || rules->expired == 0)
        return true;
    return timestamp >= START_OF_2001_S * NS_IN_S / rules->unit_ns &&
           timestamp < START_OF_2100_S * NS_IN_S / rules->unit_ns;
}

/* The time at which the lock with this timestamp ends, in units. */
static int64_t end_of(const bwl_compat_rules *rules, int64_t timestamp, bwl_ms lease_ms)
{
    int64_t length = rules->timestamp_is_start ? length_ns(rules, lease_ms) / rules->unit_ns : 0;

    assert(timestamp >= 0);
    return timestamp > INT64_MAX - length ? INT64_MAX : timestamp + length;
}

bool bwl_timestamp_has_expired(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                               bwl_ms lease_ms)
{
    int64_t end = end_of(rules, timestamp, lease_ms);
    int64_t now = wall_ns / rules->unit_ns;

    switch (rules->expired) {
    case BWL_TIMESTAMP_BEFORE_NOW: return end < now;
    case BWL_TIMESTAMP_NOT_AFTER_NOW: return end <= now;
    }
    bwl_unreachable("these rules do not say when a timestamp has expired");
}

bool bwl_timestamp_is_ahead(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                            bwl_ms lease_ms)
{
    int64_t end   = end_of(rules, timestamp, lease_ms);
    int64_t now   = wall_ns / rules->unit_ns;
    int64_t guard = rules->guard_ms * NS_IN_MS;

    return end > now &&
           (end - now > INT64_MAX / rules->unit_ns || (end - now) * rules->unit_ns > guard);
}

bwl_ms bwl_timestamp_left_ms(const bwl_compat_rules *rules, int64_t timestamp, int64_t wall_ns,
                             bwl_ms lease_ms)
{
    int64_t end_ns =
        timestamp > INT64_MAX / 2 / rules->unit_ns ? INT64_MAX / 2 : timestamp * rules->unit_ns;

    if (rules->timestamp_is_start)
        end_ns += length_ns(rules, lease_ms);
    return end_ns >= wall_ns ? (end_ns - wall_ns) / NS_IN_MS : -1;
}
