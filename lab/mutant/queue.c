#include "lab/mutant/queue.h"
#include "lab/world/private_state.h"
#include "protocol/queue_lock.h"
#include "protocol/store/queue.h"

static void mutant_init(void *state, unsigned nodes)
{
    bwl_queue_mutant_state *m = state;

    assert(bwl_queue.state_size == sizeof m->inner);
    *m = (bwl_queue_mutant_state){ 0 };
    bwl_queue.init(&m->inner, nodes);
}

static void inner_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    bwl_queue.command(&m->inner, request, cmd, fx);
}

static void inner_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    bwl_queue.event(&m->inner, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        m->until = fx->outcome.until;
}

static void from_push_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                            bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    if (ev->kind == BWL_PUSH) {
        m->inner.seen.at        = ev->now;
        m->inner.seen.server_us = ((const bwl_queue_status *)ev->details)->server_us;
    }
    inner_event(m, request, ev, fx);
}

static void joins_anew_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                             bwl_effects *fx)
{
    bwl_queue_mutant_state *m     = state;
    bool                    waits = m->inner.phase == BWL_QUEUE_QUEUED;

    if (ev->kind == BWL_ALARM && waits && m->inner.in_flight.tag == 0) {
        m->inner.phase = BWL_QUEUE_IDLE;
        bwl_complete(fx, BWL_RETRY_WITH_NEW_TOKEN);
        return;
    }
    inner_event(m, request, ev, fx);
}

static void joins_again_command(void *state, const bwl_lock_request *request,
                                const bwl_command *cmd, bwl_effects *fx)
{
    const bwl_queue_mutant_state *m = state;

    inner_command(state, request, cmd, fx);
    if (cmd->verb != BWL_ACQUIRE || !cmd->again)
        return;
    fx->sends[0].command                = REDIS_QUEUE_JOIN;
    fx->sends[0].args[REDIS_ARG_TICKET] = (int64_t)m->inner.ticket;
}

static void draws_anew_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                               bwl_effects *fx)
{
    inner_command(state, request, cmd, fx);
    if (fx->send_count > 0 && fx->sends[0].command == REDIS_QUEUE_JOIN)
        fx->sends[0].args[REDIS_ARG_TICKET] = 0;
}

static void just_loses_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                               bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    if (cmd->verb == BWL_ACQUIRE)
        m->until = 0;
    if (cmd->verb == BWL_RELEASE && m->until != 0 && cmd->now >= m->until) {
        m->inner.phase         = BWL_QUEUE_IDLE;
        m->inner.in_flight.tag = 0;
        bwl_complete(fx, BWL_RELEASED);
    } else {
        inner_command(state, request, cmd, fx);
    }
}

static void just_yields_command(void *state, const bwl_lock_request *request,
                                const bwl_command *cmd, bwl_effects *fx)
{
    bwl_queue_mutant_state *m = state;

    if (cmd->again || cmd->verb == BWL_RELEASE)
        m->inner.previous_may_own = false;
    inner_command(state, request, cmd, fx);
}

#define MUTANT(NAME, COMMAND, EVENT)                        \
    const bwl_protocol bwl_queue_##NAME = {                 \
        .name             = "queue",                        \
        .state_size       = sizeof(bwl_queue_mutant_state), \
        .uses_token       = true,                           \
        .extends          = true,                           \
        .can_verify_owner = true,                           \
        .uses_push        = true,                           \
        .yields           = true,                           \
        .init             = mutant_init,                    \
        .command          = COMMAND,                        \
        .event            = EVENT,                          \
    }

MUTANT(from_push, inner_command, from_push_event);
MUTANT(joins_anew, inner_command, joins_anew_event);
MUTANT(joins_again, joins_again_command, inner_event);
MUTANT(draws_anew, draws_anew_command, inner_event);
MUTANT(just_loses, just_loses_command, inner_event);
MUTANT(just_yields, just_yields_command, inner_event);
