/*
 * deadlines.c -- until when the caller of an acquire waits, and what is left of a rest: see
 * machine.h.
 */
#include "lock/machine.h"
#include "protocol/format/compat_rules.h"

enum {
    STORE_FIRST_MS   = 50,   /* by this much the engine's time limit may come later */
    REPLICAS_LATE_MS = 250,  /* the same for the reply of replicas and the release after it */
    FIRST_CONNECT_MS = 1000, /* a wait that is shorter lasts so long if there is no connection */
    LAST_CONNECT_MS  = 50,   /* after the wait, for a store that was unreachable */
};

bwl_ms bwl_hold_result_deadline(const bwl_hold *h)
{
    if (!bwl_hold_is_acquiring(h))
        return BWL_NEVER;
    bwl_ms slack_ms = STORE_FIRST_MS + (h->request.options->replicas > 0 ? REPLICAS_LATE_MS : 0);
    return bwl_ms_add(h->wait_deadline, bwl_ms_add(h->terms.answer_ms, slack_ms));
}

bwl_ms bwl_hold_send_deadline(const bwl_hold *h)
{
    bwl_ms least = h->answer_deadline - bwl_ms_max(h->terms.answer_ms - FIRST_CONNECT_MS, 0);

    if (h->state != BWL_HOLD_ACQUIRING || !h->would_wait)
        return h->state == BWL_HOLD_RESOLVING ? bwl_hold_resolve_deadline(h) : BWL_NEVER;
    return h->last_error == BWL_UNREACHABLE ? bwl_ms_add(h->wait_deadline, LAST_CONNECT_MS)
                                            : bwl_ms_max(h->wait_deadline, least);
}

/* The store counts the rest from the grant, which came before its reply.  The drift allowance
 * covers a clock that is faster than the store's. */
bwl_command bwl_hold_release_command(const bwl_hold *h, bwl_ms now)
{
    bwl_ms left_ms   = h->rest_ends_at - now;
    bwl_ms passed_ms = h->request.rest_ms - left_ms;

    if (h->rest_ends_at == 0)
        return (bwl_command){ .verb = BWL_RELEASE, .releases_both = h->change.other_may_own };
    return (bwl_command){ .verb    = BWL_RELEASE,
                          .rests   = true,
                          .rest_ms = bwl_ms_max(left_ms + bwl_drift_ms(passed_ms), 0) };
}

void bwl_hold_limit(bwl_hold *h, bwl_ms max_hold_ms, bwl_ms now)
{
    assert(bwl_hold_is_held(h) && h->ends_at == BWL_NEVER);
    h->terms.max_hold_ms = max_hold_ms;
    h->ends_at           = bwl_ms_add(now, max_hold_ms);
    h->until             = bwl_ms_min(h->until, h->ends_at);
    h->timer_at          = bwl_ms_min(h->timer_at, h->until);
}
