/*
 * synced.c -- see synced.h.
 */
#include "lab/mutant/synced.h"
#include "protocol/protocol.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

#include <string.h>

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

/* ---- mistakes -------------------------------------------------------------------------------- */

static void deaf_event(void *state, const bwl_claim *claim, const bwl_event *ev, bwl_effects *fx)
{
    bwl_event heard = *ev;

    if (ev->kind == BWL_REPLY && ev->answer == BWL_NO && (ev->tag & BWL_SYNCED_TAG) != 0)
        heard.answer = BWL_YES;
    bwl_synced_token.event(state, claim, &heard, fx);
}

/* To ask for no replica is not to ask: a server says yes to that at once. */
static void alone_event(void *state, const bwl_claim *claim, const bwl_event *ev, bwl_effects *fx)
{
    bwl_synced_view view;

    bwl_synced_token.event(state, claim, ev, fx);
    memcpy(&view, state, sizeof view);
    if (fx->asks_count > 0 && fx->asks[0].word == REDIS_REPLICATED && view.verb == BWL_EXTEND)
        fx->asks[0].stamp = 0;
}

/* The push is taken for the yes to a question of ours. */
static void early_event(void *state, const bwl_claim *claim, const bwl_event *ev, bwl_effects *fx)
{
    bwl_synced_view *view     = state;
    bool             is_given = ev->kind == BWL_PUSH;

    bwl_synced_queue.event(state, claim, ev, fx);
    if (!is_given || fx->asks_count != 1 || fx->asks[0].word != REDIS_QUEUE_EXTEND)
        return;
    bwl_event confirmed = { .kind   = BWL_REPLY,
                            .answer = BWL_YES,
                            .tag    = fx->asks[0].tag,
                            .now    = ev->now,
                            .fresh  = ev->fresh };
    fx->asks_count      = 0;
    bwl_synced_queue.event(view, claim, &confirmed, fx);
}

#define MUTANT(NAME, INNER, IS_QUEUE)          \
    const bwl_protocol bwl_synced_##NAME = {   \
        .name       = #INNER,                  \
        .state_size = sizeof(bwl_synced_view), \
        .uses_token = true,                    \
        .extends    = true,                    \
        .settles    = true,                    \
        .listens    = (IS_QUEUE),              \
        .yields     = (IS_QUEUE),              \
        .init       = NAME##_init,             \
        .command    = NAME##_command,          \
        .event      = NAME##_event,            \
    }

#define AS(NAME, INNER)                                                                     \
    static void NAME##_init(void *state, unsigned nodes)                                    \
    {                                                                                       \
        bwl_synced_##INNER.init(state, nodes);                                              \
    }                                                                                       \
    static void NAME##_command(void *state, const bwl_claim *claim, const bwl_command *cmd, \
                               bwl_effects *fx)                                             \
    {                                                                                       \
        bwl_synced_##INNER.command(state, claim, cmd, fx);                                  \
    }

AS(deaf, token)
AS(alone, token)
AS(early, queue)

MUTANT(deaf, token, false);
MUTANT(alone, token, false);
MUTANT(early, queue, true);

/* ---- is the view right? ---------------------------------------------------------------------- */

/* Asks for a lock, has it, and asks the replicas. */
bool bwl_synced_view_is_right(void)
{
    enum { LEASE_MS = 500, NOW = 7000, LATER = 7003, ALL_MS = 60 };
    const bwl_terms terms = {
        .lease_ms = LEASE_MS, .max_hold_ms = BWL_NEVER, .answer_ms = ALL_MS, .replicas = 1
    };
    bwl_random      random = { { 1 } };
    bwl_event       ev     = { .kind = BWL_REPLY, .answer = BWL_YES, .now = LATER };
    bwl_effects     fx     = { 0 };
    bwl_hold        hold;
    bwl_synced_view v;

    if (bwl_synced_token.state_size != sizeof v || bwl_queue.state_size != sizeof v.inner)
        return false;
    bwl_hold_init(&hold, &bwl_synced_token, 1, &terms);
    bwl_hold_acquire(&hold, &random, (bwl_moment){ .now = NOW }, NOW, &fx);
    if (bwl_synced_asked(&hold) != 0)
        return false;
    ev.tag = fx.asks[0].tag;
    bwl_no_effects(&fx);
    bwl_hold_event(&hold, &ev, &fx);
    v = bwl_synced_view_of(&hold);
    return v.asked == (BWL_SYNCED_TAG | 1) && v.asked == fx.asks[0].tag && v.count == 1 &&
           v.until == NOW + LEASE_MS - bwl_drift_ms(LEASE_MS) && v.fence == 0 &&
           v.asked_at == LATER && v.ask_until == LATER + ALL_MS && v.verb == BWL_ACQUIRE;
}
