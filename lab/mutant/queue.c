#include "lab/mutant/queue.h"
#include "lab/world/private_state.h"
#include "protocol/protocol.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

static void mutant_init(void *state, unsigned nodes)
{
    bwl_queue_mutant_state *m = state;

    assert(bwl_queue.state_size == sizeof m->inner);
    *m = (bwl_queue_mutant_state){ 0 };
    bwl_queue.init(&m->inner, nodes);
}

static void inner_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                          bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    bwl_queue.command(&m->inner, claim, cmd, fx);
}

static void inner_event(void *state, const bwl_claim *claim, const bwl_event *ev, bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    bwl_queue.event(&m->inner, claim, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        m->until = fx->outcome.until;
}

static void from_push_event(void *state, const bwl_claim *claim, const bwl_event *ev,
                            bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    if (ev->kind == BWL_PUSH) {
        m->inner.seen_at = ev->now;
        m->inner.seen_us = ev->place->server_us;
    }
    inner_event(m, claim, ev, fx);
}

static void joins_anew_event(void *state, const bwl_claim *claim, const bwl_event *ev,
                             bwl_effects *fx)
{
    bwl_queue_mutant_state *m     = state;
    bool                    waits = m->inner.phase == BWL_QUEUE_VIEW_QUEUED;

    if (ev->kind == BWL_ALARM && waits && m->inner.asked == 0) {
        m->inner.phase = BWL_QUEUE_VIEW_IDLE;
        bwl_tell(fx, BWL_ANEW);
        return;
    }
    inner_event(m, claim, ev, fx);
}

static void joins_again_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                                bwl_effects *fx)
{
    const bwl_queue_mutant_state *m = state;

    inner_command(state, claim, cmd, fx);
    if (cmd->verb != BWL_ACQUIRE || !cmd->again)
        return;
    fx->asks[0].word  = REDIS_QUEUE_JOIN;
    fx->asks[0].stamp = (int64_t)m->inner.ticket;
}

static void draws_anew_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                               bwl_effects *fx)
{
    inner_command(state, claim, cmd, fx);
    if (fx->asks_count > 0 && fx->asks[0].word == REDIS_QUEUE_JOIN)
        fx->asks[0].stamp = 0;
}

static void just_loses_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                               bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    if (cmd->verb == BWL_ACQUIRE)
        m->until = 0;
    if (cmd->verb == BWL_RELEASE && m->until != 0 && cmd->now >= m->until) {
        m->inner.phase = BWL_QUEUE_VIEW_IDLE;
        m->inner.asked = 0;
        bwl_tell(fx, BWL_RELEASED);
    } else {
        inner_command(state, claim, cmd, fx);
    }
}

static void just_yields_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                                bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    if (cmd->again || cmd->verb == BWL_RELEASE)
        m->inner.owes = false;
    inner_command(state, claim, cmd, fx);
}

#define MUTANT(NAME, COMMAND, EVENT)                  \
    const bwl_protocol bwl_queue_##NAME = {           \
        .name       = "queue",                        \
        .state_size = sizeof(bwl_queue_mutant_state), \
        .uses_token = true,                           \
        .extends    = true,                           \
        .settles    = true,                           \
        .listens    = true,                           \
        .yields     = true,                           \
        .init       = mutant_init,                    \
        .command    = COMMAND,                        \
        .event      = EVENT,                          \
    }

MUTANT(from_push, inner_command, from_push_event);
MUTANT(joins_anew, inner_command, joins_anew_event);
MUTANT(joins_again, joins_again_command, inner_event);
MUTANT(draws_anew, draws_anew_command, inner_event);
MUTANT(just_loses, just_loses_command, inner_event);
MUTANT(just_yields, just_yields_command, inner_event);
