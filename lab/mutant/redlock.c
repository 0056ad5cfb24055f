/*
 * redlock.c -- planted faults of a lock on several servers.  Each is a mistake that a real lock has
 * made, in a wrapper around the explored machine: see redlock.h.
 */
#include "lab/mutant/redlock.h"
#include "protocol/quorum.h"
#include "protocol/store/redis.h"

static bwl_redlock_state *state_of(void *state)
{
    return state;
}

static unsigned votes(const bwl_redlock_state *r, unsigned vote)
{
    unsigned count = 0;

    for (unsigned i = 0; i < r->nodes; i++)
        if (r->votes[i] == vote)
            count++;
    return count;
}

static void no_undo_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                          bwl_effects *fx)
{
    bwl_redlock.event(state, request, ev, fx);
    if (state_of(state)->verb == BWL_ACQUIRE)
        fx->send_count = 0;
}

static void of_answering_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                               bwl_effects *fx)
{
    bwl_redlock_state *r        = state_of(state);
    bool               was_open = !r->is_decided;

    bwl_redlock.event(state, request, ev, fx);
    unsigned yes = votes(r, BWL_YES);
    bool     won = yes > votes(r, BWL_NO) && votes(r, 0) == 0;
    if (was_open && won && r->verb == BWL_ACQUIRE && fx->outcome.kind != BWL_HELD) {
        bwl_no_effects(fx);
        r->is_decided = true;
        bwl_complete_held(fx, r->until, 0);
    }
}

static void no_elapsed_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                             bwl_effects *fx)
{
    bwl_redlock.event(state, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        fx->outcome.until = ev->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
}

static void overwrites_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                             bwl_effects *fx)
{
    bwl_redlock.event(state, request, ev, fx);
    for (unsigned i = 0; i < fx->send_count; i++)
        if (fx->sends[i].command == REDIS_SET_IF_ABSENT)
            fx->sends[i].command = REDIS_SWAP;
}

static void undo_and_ask_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                               bwl_effects *fx)
{
    bwl_redlock_state *r = state_of(state);

    bwl_redlock.event(state, request, ev, fx);
    if (r->verb == BWL_ACQUIRE && fx->outcome.kind == BWL_NOT_NOW && fx->send_count == 0)
        for (unsigned i = 0; i < r->nodes; i++)
            bwl_send_command(fx, i, REDIS_DELETE_IF_MINE, r->round);
}

static void init(void *state, unsigned nodes)
{
    bwl_redlock.init(state, nodes);
}

static void command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                    bwl_effects *fx)
{
    bwl_redlock.command(state, request, cmd, fx);
}

#define MUTANT(name_, command_, event_)                                                 \
    {                                                                                   \
        .name = (name_), .state_size = sizeof(bwl_redlock_state), .uses_token = true,   \
        .extends = true, .can_verify_owner = true, .init = init, .command = (command_), \
        .event = (event_)                                                               \
    }

const bwl_protocol bwl_mutant_no_undo = MUTANT("redlock-no-undo", command, no_undo_event);
const bwl_protocol bwl_mutant_of_answering =
    MUTANT("redlock-of-answering", command, of_answering_event);
const bwl_protocol bwl_mutant_no_elapsed = MUTANT("redlock-no-elapsed", command, no_elapsed_event);
const bwl_protocol bwl_mutant_overwrites = MUTANT("redlock-overwrites", command, overwrites_event);
const bwl_protocol bwl_mutant_undo_and_ask =
    MUTANT("redlock-undo-and-ask", command, undo_and_ask_event);
