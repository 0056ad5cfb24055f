#include "lab/mutant/synced.h"
#include "lab/world/private_state.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/store/queue.h"

#include <string.h>

static void deaf_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                       bwl_effects *fx)
{
    bwl_event heard = *ev;

    if (ev->kind == BWL_REPLY && ev->answer == BWL_NO && (ev->tag & BWL_SYNCED_TAG) != 0)
        heard.answer = BWL_YES;
    bwl_synced_token.event(state, request, &heard, fx);
}

/* It asks for no replica, which a server answers with YES at once. */
static void alone_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    bwl_synced_state view;

    bwl_synced_token.event(state, request, ev, fx);
    memcpy(&view, state, sizeof view);
    if (fx->send_count > 0 && fx->sends[0].command == REDIS_REPLICATED && view.verb == BWL_EXTEND)
        fx->sends[0].args[REDIS_ARG_REPLICAS] = 0;
}

/* A push is taken for the answer to its command. */
static void early_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    bwl_synced_state *view     = state;
    bool              is_given = ev->kind == BWL_PUSH;

    bwl_synced_queue.event(state, request, ev, fx);
    if (!is_given || fx->send_count != 1 || fx->sends[0].command != REDIS_QUEUE_EXTEND)
        return;
    bwl_event confirmed = { .kind   = BWL_REPLY,
                            .answer = BWL_YES,
                            .tag    = fx->sends[0].tag,
                            .now    = ev->now,
                            .fresh  = ev->fresh };
    fx->send_count      = 0;
    bwl_synced_queue.event(view, request, &confirmed, fx);
}

#define MUTANT(NAME, INNER, IS_QUEUE)                 \
    const bwl_protocol bwl_synced_##NAME = {          \
        .name             = #INNER,                   \
        .state_size       = sizeof(bwl_synced_state), \
        .uses_token       = true,                     \
        .extends          = true,                     \
        .can_verify_owner = true,                     \
        .uses_push        = (IS_QUEUE),               \
        .yields           = (IS_QUEUE),               \
        .init             = NAME##_init,              \
        .command          = NAME##_command,           \
        .event            = NAME##_event,             \
    }

#define AS(NAME, INNER)                                                      \
    static void NAME##_init(void *state, unsigned nodes)                     \
    {                                                                        \
        bwl_synced_##INNER.init(state, nodes);                               \
    }                                                                        \
    static void NAME##_command(void *state, const bwl_lock_request *request, \
                               const bwl_command *cmd, bwl_effects *fx)      \
    {                                                                        \
        bwl_synced_##INNER.command(state, request, cmd, fx);                 \
    }

AS(deaf, token)
AS(alone, token)
AS(early, queue)

MUTANT(deaf, token, false);
MUTANT(alone, token, false);
MUTANT(early, queue, true);
