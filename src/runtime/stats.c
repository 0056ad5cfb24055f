#include "runtime/stats.h"

void bwl_stats_acquire_ended(bwl_stats *s, bwl_lock_stats *lock, bwl_outcome_kind kind, bwl_ms now)
{
    bwl_ms waited_ms = now - lock->since;

    if (kind == BWL_HELD) {
        s->acquired++;
        s->waited_ms += waited_ms;
        s->waited_max_ms = bwl_ms_max(s->waited_max_ms, waited_ms);
        *lock            = (bwl_lock_stats){ .since = now, .holds = true };
    } else if (kind == BWL_BUSY || kind == BWL_FULL || kind == BWL_TIMED_OUT) {
        s->not_acquired++;
    }
}

void bwl_stats_hold_ended(bwl_stats *s, bwl_lock_stats *lock, bwl_outcome_kind kind, bwl_ms now)
{
    if (!lock->holds)
        return;
    s->held_ms += now - lock->since;
    *lock = (bwl_lock_stats){ .since = now };
    if (kind == BWL_RELEASED)
        s->released++;
    else if (kind == BWL_LOST)
        s->lost++;
    else
        s->not_released++;
}

void bwl_stats_renewed(bwl_stats *s, bool is_done, bwl_ms left_ms, bwl_ms lease_ms)
{
    if (!is_done) {
        s->renewals_failed++;
        return;
    }
    s->renewals++;
    if (left_ms < lease_ms / 3)
        s->renewals_late++;
}

void bwl_stats_add(bwl_stats *ret_sum, const bwl_stats *more)
{
    ret_sum->acquired += more->acquired;
    ret_sum->not_acquired += more->not_acquired;
    ret_sum->released += more->released;
    ret_sum->lost += more->lost;
    ret_sum->not_released += more->not_released;
    ret_sum->renewals += more->renewals;
    ret_sum->renewals_late += more->renewals_late;
    ret_sum->renewals_failed += more->renewals_failed;
    ret_sum->connections += more->connections;
    ret_sum->waited_ms += more->waited_ms;
    ret_sum->waited_max_ms = bwl_ms_max(ret_sum->waited_max_ms, more->waited_max_ms);
    ret_sum->held_ms += more->held_ms;
}
