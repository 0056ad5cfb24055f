/*
 * queue_time.c -- see queue_time.h.
 *
 * Only who is first in line looks closely at when the lock's time is over: all others are given it
 * by those before them, and ask only to be known as living, and to be found if a push was lost.
 *
 * A difference of two of the server's times is a length of time, whatever that clock shows; it is
 * made shorter by the drift allowance.  Unless the clock was set in between.  Set back, the length
 * is negative.  Set forward, the sum lies in our future, where nothing can have happened yet, if
 * only it was set by more than the push was under way.  In both cases nothing is known but that it
 * happened after we had asked, and that is where we count from: too early, never too late.
 */
#include "protocol/queue_time.h"

enum { STRANGER_MIN_MS = 50, STRANGER_MAX_MS = 250, EXPIRED_MS = 2, US_PER_MS = 1000 };

static bwl_ms between(bwl_ms least_ms, bwl_ms most_ms, const bwl_random *fresh)
{
    unsigned chance = (unsigned)fresh->bytes[0] << 8 | fresh->bytes[1];

    assert(least_ms <= most_ms);
    return least_ms + (bwl_ms)chance % (most_ms - least_ms + 1);
}

bwl_ms bwl_queue_heartbeat_ms(const bwl_queue_status *queue_status, const bwl_random *fresh)
{
    if (queue_status->rank > 0) /* a beat that is late by another one does not make us dead yet */
        return between(BWL_QUEUE_HEARTBEAT_MS, 2 * BWL_QUEUE_HEARTBEAT_MS, fresh);
    if (!queue_status->is_ours || !queue_status->ends) /* who deletes it tells nobody */
        return between(STRANGER_MIN_MS, STRANGER_MAX_MS, fresh);
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
