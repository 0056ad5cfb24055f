#include "lab/world/private_state.h"
#include "lab/base/token_number.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/store/queue.h"
#include <string.h>

uint16_t bwl_queue_view_owes(const bwl_hold *h)
{
    bwl_queue_view v;

    memcpy(&v, h->memory, sizeof v);
    return v.owes ? bwl_token_read(h->previous_token) : 0;
}

static bool owes_after_yield(bwl_queue_view *v)
{
    const bwl_lock_request request = { .lease_ms = 500 };
    const bwl_command beat = { .verb = BWL_ACQUIRE, .may_wait = true, .yields = true, .now = 9000 };
    const bwl_queue_status queue_status = { .server_us = 99 };
    const bwl_event        push         = {
                       .kind    = BWL_PUSH,
                       .answer  = BWL_YES,
                       .now     = 7001,
                       .details = &queue_status,
    };
    bwl_effects fx = { 0 };

    bwl_queue.event(v, &request, &push, &fx);
    bwl_no_effects(&fx);
    bwl_queue.command(v, &request, &beat, &fx);
    return v->owes && fx.sends[0].command == REDIS_QUEUE_REQUEUE;
}

bool bwl_queue_view_is_right(void)
{
    enum { LEASE_MS = 500, NOW = 7000, SERVER_US = 99, TICKET = 77, FENCE = 88 };
    const bwl_queue_status queue_status = { .kind      = BWL_QUEUE_STATUS_QUEUED,
                                            .ticket    = TICKET,
                                            .server_us = SERVER_US };
    const bwl_lock_request request      = { .lease_ms = LEASE_MS };
    const bwl_command      cmd          = { .verb = BWL_ACQUIRE, .may_wait = true, .now = NOW };
    bwl_effects            fx           = { 0 };
    bwl_event              ev           = {
                               .kind    = BWL_REPLY,
                               .answer  = BWL_NO,
                               .now     = NOW + 1,
                               .details = &queue_status,
    };
    bwl_queue_view asked;
    bwl_queue_view v;

    if (bwl_queue.state_size != sizeof v)
        return false;
    bwl_queue.init(&v, 1);
    if (v.phase != BWL_QUEUE_VIEW_IDLE)
        return false;
    bwl_queue.command(&v, &request, &cmd, &fx);
    asked  = v;
    ev.tag = fx.sends[0].tag;
    bwl_no_effects(&fx);
    bwl_queue.event(&v, &request, &ev, &fx);
    return asked.asked == ev.tag && asked.last_tag == ev.tag && asked.sent_at == NOW &&
           asked.provisional_ttl_ms == LEASE_MS && asked.lease_ms == LEASE_MS && asked.may_wait &&
           !asked.was_held && v.asked == 0 && v.phase == BWL_QUEUE_VIEW_QUEUED &&
           v.ticket == TICKET && v.seen_at == NOW && v.seen_us == SERVER_US && v.fence == 0 &&
           !v.owes && owes_after_yield(&v);
}

bwl_synced_view bwl_synced_view_of(const bwl_hold *h)
{
    bwl_synced_view view;

    memcpy(&view, h->memory, sizeof view);
    return view;
}

uint32_t bwl_synced_asked(const bwl_hold *h)
{
    return bwl_is_synced(h) ? bwl_synced_view_of(h).asked : 0;
}

bool bwl_synced_view_is_right(void)
{
    enum { LEASE_MS = 500, NOW = 7000, RETRYABLE = 7003, ALL_MS = 60 };
    const bwl_terms terms = {
        .lease_ms = LEASE_MS, .max_hold_ms = BWL_NEVER, .answer_ms = ALL_MS, .replicas = 1
    };
    bwl_random      random = { { 1 } };
    bwl_event       ev     = { .kind = BWL_REPLY, .answer = BWL_YES, .now = RETRYABLE };
    bwl_effects     fx     = { 0 };
    bwl_hold        hold;
    bwl_synced_view v;

    if (bwl_synced_token.state_size != sizeof v || bwl_queue.state_size != sizeof v.inner)
        return false;
    bwl_hold_init(&hold, &bwl_synced_token, 1, &terms);
    bwl_hold_acquire(&hold, &random, (bwl_moment){ .now = NOW }, NOW, &fx);
    if (bwl_synced_asked(&hold) != 0)
        return false;
    ev.tag = fx.sends[0].tag;
    bwl_no_effects(&fx);
    bwl_hold_event(&hold, &ev, &fx);
    v = bwl_synced_view_of(&hold);
    return v.asked == (BWL_SYNCED_TAG | 1) && v.asked == fx.sends[0].tag && v.count == 1 &&
           v.until == NOW + LEASE_MS - bwl_drift_ms(LEASE_MS) && v.fence == 0 &&
           v.asked_at == RETRYABLE && v.ask_until == RETRYABLE + ALL_MS && v.verb == BWL_ACQUIRE;
}
