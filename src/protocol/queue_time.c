/*
 * queue_time.c -- see queue_time.h.
 *
 * Only the first waiter sends its heartbeat close to the end of the lock.  The others get the lock
 * by a push.  Their heartbeats show the server that they still wait, and find a grant whose push
 * was lost.
 *
 * The difference of two times of the server is a duration, even if the server's clock is wrong.
 * The drift allowance makes it shorter.  If the clock was set back in between, the difference is
 * negative.  If it was set forward by more than the delay of the push, the sum is in the future,
 * which is impossible for a grant.  In both cases only one thing is certain: the grant happened
 * after the heartbeat was sent.  So the lease counts from there: too early, never too late.
 */
#include "protocol/queue_time.h"

enum { FOREIGN_MIN_MS = 50, FOREIGN_MAX_MS = 250, EXPIRED_MS = 2, US_PER_MS = 1000 };

/* A random time, from min_ms to max_ms. */
static bwl_ms between(bwl_ms min_ms, bwl_ms max_ms, const bwl_random *fresh)
{
    unsigned random = (unsigned)fresh->bytes[0] << 8 | fresh->bytes[1];

    assert(min_ms <= max_ms);
    return min_ms + (bwl_ms)random % (max_ms - min_ms + 1);
}

bwl_ms bwl_queue_heartbeat_ms(const bwl_queue_status *queue_status, const bwl_random *fresh)
{
    if (queue_status->rank > 0) /* the longest is two thirds of what the server tolerates */
        return between(BWL_QUEUE_HEARTBEAT_MS, 2 * BWL_QUEUE_HEARTBEAT_MS, fresh);
    if (!queue_status->is_ours || !queue_status->ends) /* no push follows its deletion */
        return between(FOREIGN_MIN_MS, FOREIGN_MAX_MS, fresh);
    if (queue_status->left_ms <= 0)
        return EXPIRED_MS;
    return bwl_ms_min(BWL_QUEUE_HEARTBEAT_MS, bwl_ms_add(queue_status->left_ms, EXPIRED_MS));
}

bwl_ms bwl_queue_slack_ms(const bwl_queue_status *queue_status)
{
    bool ends_later = queue_status->is_ours && queue_status->ends &&
                      queue_status->left_ms > BWL_QUEUE_HEARTBEAT_MS + BWL_QUEUE_SLACK_MS;

    return queue_status->rank > 0 || ends_later ? BWL_QUEUE_SLACK_MS : 0;
}

void bwl_queue_wake_to_heartbeat(const bwl_event *ev, bwl_effects *fx)
{
    const bwl_queue_status *status = ev->details;
    bwl_ms                  at = bwl_ms_add(ev->now, bwl_queue_heartbeat_ms(status, &ev->fresh));

    bwl_wake_about(fx, at, bwl_queue_slack_ms(status));
}

bwl_ms bwl_queue_retry_ms(const bwl_random *fresh)
{
    return between(BWL_QUEUE_HEARTBEAT_MS / 2, BWL_QUEUE_HEARTBEAT_MS, fresh);
}

bwl_ms bwl_queue_granted_after(bwl_clock_sample seen, int64_t given_us, bwl_ms now, bwl_ms slack_ms)
{
    bwl_ms passed_ms;

    assert(slack_ms >= 0);
    if (seen.server_us <= 0 || given_us <= seen.server_us)
        return seen.at;
    passed_ms = (given_us - seen.server_us) / US_PER_MS;
    passed_ms -= bwl_ms_min(passed_ms, bwl_drift_ms(passed_ms));
    if (passed_ms > now - seen.at + slack_ms)
        return seen.at;
    return bwl_ms_min(seen.at + passed_ms, now);
}
