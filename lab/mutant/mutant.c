#include "lab/mutant/mutant.h"
#include "lab/world/private_state.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/quorum.h"
#include "protocol/store/queue.h"

#define COMMAND(NAME)                                                                      \
    static void NAME(void *state, const bwl_lock_request *request, const bwl_command *cmd, \
                     bwl_effects *fx)
#define EVENT(NAME)                                                                     \
    static void NAME(void *state, const bwl_lock_request *request, const bwl_event *ev, \
                     bwl_effects *fx)

/* A mutant whose state begins with that of the real machine calls its functions unchanged. */
#define SAME_INIT(INNER)                                  \
    static void INNER##_init(void *state, unsigned nodes) \
    {                                                     \
        bwl_##INNER.init(state, nodes);                   \
    }
#define SAME_COMMAND(INNER)                           \
    COMMAND(INNER##_command)                          \
    {                                                 \
        bwl_##INNER.command(state, request, cmd, fx); \
    }

#define MUTANT(NAME, PROTOCOL, STATE_SIZE, INIT, COMMAND_, EVENT_, ...) \
    const bwl_protocol NAME = { .name             = (PROTOCOL),         \
                                .state_size       = (STATE_SIZE),       \
                                .uses_token       = true,               \
                                .extends          = true,               \
                                .can_verify_owner = true,               \
                                .init             = (INIT),             \
                                .command          = (COMMAND_),         \
                                .event            = (EVENT_),           \
                                __VA_ARGS__ }

/* ---- token ----------------------------------------------------------------------------------- */

static void token_init(void *state, unsigned nodes)
{
    bwl_mutant_state *m = state;

    assert(bwl_token.state_size <= BWL_MUTANT_INNER_SIZE);
    *m = (bwl_mutant_state){ 0 };
    bwl_token.init(m->inner, nodes);
}

COMMAND(token_command)
{
    bwl_mutant_state *m = state;

    m->sent_at = cmd->now;
    m->verb    = cmd->verb;
    m->again   = cmd->again;
    m->is_lost = false;
    bwl_token.command(m->inner, request, cmd, fx);
    m->tag = fx->sends[fx->send_count - 1].tag;
}

static void inner_event(bwl_mutant_state *m, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    bwl_token.event(m->inner, request, ev, fx);
}

static bwl_ms lease_from(bwl_ms at, const bwl_lock_request *request)
{
    return at + request->lease_ms - bwl_drift_ms(request->lease_ms);
}

/* Reports `kind` (until a lease after `from`, if HELD) where the machine reports `truth` for
 * `verb`. */
typedef struct lie {
    bwl_verb         verb;
    bwl_outcome_kind truth;
    bwl_outcome_kind kind;
} lie;

static void tell_lie(bwl_mutant_state *m, const bwl_lock_request *request, lie l, bwl_effects *fx)
{
    if (m->verb != l.verb || fx->outcome.kind != l.truth)
        return;
    fx->outcome = (bwl_outcome){ .kind = l.kind };
    if (l.kind == BWL_HELD)
        fx->outcome.until = lease_from(m->sent_at, request);
}

EVENT(from_answer_event)
{
    inner_event(state, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        fx->outcome.until = lease_from(ev->now, request);
}

EVENT(no_drift_event)
{
    inner_event(state, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        fx->outcome.until += bwl_drift_ms(request->lease_ms);
}

EVENT(from_resolving_event)
{
    bwl_mutant_state *m = state;

    inner_event(m, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD && m->again)
        fx->outcome.until = lease_from(m->sent_at, request);
}

EVENT(no_is_yes_event)
{
    bwl_mutant_state *m = state;

    inner_event(m, request, ev, fx);
    if (m->again)
        tell_lie(m, request, (lie){ BWL_ACQUIRE, BWL_BUSY, BWL_HELD }, fx);
}

EVENT(any_answer_event)
{
    bwl_mutant_state *m    = state;
    bwl_event         ours = *ev;

    ours.tag = m->tag;
    inner_event(m, request, &ours, fx);
}

EVENT(silent_event)
{
    if (ev->kind != BWL_DOWN)
        inner_event(state, request, ev, fx);
}

EVENT(asks_on_event)
{
    enum { EVERY_MS = 20 };
    bwl_mutant_state *m = state;

    inner_event(m, request, ev, fx);
    if (ev->kind == BWL_DOWN && m->verb == BWL_ACQUIRE)
        m->is_lost = true;
    if (!m->is_lost)
        return;
    fx->outcome = (bwl_outcome){ .kind = BWL_PENDING };
    if (ev->kind == BWL_ALARM) {
        bwl_command again = { .verb = BWL_ACQUIRE, .again = true, .now = ev->now };
        bwl_token.command(m->inner, request, &again, fx);
    } else {
        bwl_wake_at(fx, ev->now + EVERY_MS);
    }
}

EVENT(hammers_event)
{
    enum { BLOWS = 6 };
    bwl_mutant_state *m    = state;
    bwl_command       next = { .verb = BWL_ACQUIRE, .now = ev->now };

    inner_event(m, request, ev, fx);
    if (fx->outcome.kind != BWL_BUSY || m->blows++ == BLOWS) {
        m->blows = 0;
        return;
    }
    fx->outcome = (bwl_outcome){ .kind = BWL_PENDING };
    bwl_token.command(m->inner, request, &next, fx);
}

EVENT(fenced_event)
{
    bwl_mutant_state *m = state;

    inner_event(m, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD && m->verb == BWL_ACQUIRE)
        fx->outcome.fence = ev->number;
}

#define TOKEN(NAME, EVENT_) \
    MUTANT(NAME, "token", sizeof(bwl_mutant_state), token_init, token_command, EVENT_, )
#define TOKEN_MUTANT(NAME) TOKEN(bwl_mutant_##NAME, NAME##_event)

/* A mutant that only tells a lie. */
#define LIAR(NAME, VERB, TRUTH, KIND)                             \
    EVENT(NAME##_event)                                           \
    {                                                             \
        inner_event(state, request, ev, fx);                      \
        tell_lie(state, request, (lie){ VERB, TRUTH, KIND }, fx); \
    }                                                             \
    TOKEN_MUTANT(NAME)

LIAR(down_is_no, BWL_ACQUIRE, BWL_UNKNOWN, BWL_BUSY);
LIAR(down_is_yes, BWL_ACQUIRE, BWL_UNKNOWN, BWL_HELD);
LIAR(down_extends, BWL_EXTEND, BWL_UNKNOWN, BWL_HELD);
LIAR(down_loses, BWL_EXTEND, BWL_UNKNOWN, BWL_LOST);
LIAR(down_releases, BWL_RELEASE, BWL_UNKNOWN, BWL_RELEASED);
LIAR(deaf_to_loss, BWL_EXTEND, BWL_LOST, BWL_HELD);
LIAR(sleeps, BWL_ACQUIRE, BWL_BUSY, BWL_QUEUED);
LIAR(gone_is_done, BWL_RELEASE, BWL_LOST, BWL_RELEASED);
TOKEN_MUTANT(from_answer);
TOKEN_MUTANT(no_drift);
TOKEN_MUTANT(from_resolving);
TOKEN_MUTANT(no_is_yes);
TOKEN_MUTANT(any_answer);
TOKEN_MUTANT(silent);
TOKEN_MUTANT(asks_on);
TOKEN_MUTANT(hammers);

TOKEN(bwl_fenced, fenced_event);

/* ---- queue ----------------------------------------------------------------------------------- */

static void queue_init(void *state, unsigned nodes)
{
    bwl_queue_mutant_state *m = state;

    assert(bwl_queue.state_size == sizeof m->inner);
    *m = (bwl_queue_mutant_state){ 0 };
    bwl_queue.init(&m->inner, nodes);
}

COMMAND(queue_command)
{
    bwl_queue_mutant_state *m = state;

    bwl_queue.command(&m->inner, request, cmd, fx);
}

EVENT(queue_event)
{
    bwl_queue_mutant_state *m = state;

    bwl_queue.event(&m->inner, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        m->until = fx->outcome.until;
}

EVENT(from_push_event)
{
    bwl_queue_mutant_state *m = state;

    if (ev->kind == BWL_PUSH) {
        m->inner.seen.at        = ev->now;
        m->inner.seen.server_us = ((const bwl_queue_status *)ev->details)->server_us;
    }
    queue_event(m, request, ev, fx);
}

EVENT(timer_joins_event)
{
    bwl_queue_mutant_state *m     = state;
    bool                    waits = m->inner.phase == BWL_QUEUE_QUEUED;

    if (ev->kind == BWL_ALARM && waits && m->inner.in_flight.tag == 0) {
        m->inner.phase = BWL_QUEUE_IDLE;
        bwl_complete(fx, BWL_RETRY_WITH_NEW_TOKEN);
        return;
    }
    queue_event(m, request, ev, fx);
}

EVENT(only_listens_event)
{
    const bwl_queue_mutant_state *m     = state;
    bool                          waits = m->inner.phase == BWL_QUEUE_QUEUED;

    if (ev->kind == BWL_ALARM && waits && m->inner.in_flight.tag == 0)
        bwl_wake_at(fx, BWL_NEVER);
    else
        queue_event(state, request, ev, fx);
}

COMMAND(joins_again_command)
{
    const bwl_queue_mutant_state *m = state;

    queue_command(state, request, cmd, fx);
    if (cmd->verb != BWL_ACQUIRE || !cmd->again)
        return;
    fx->sends[0].command                = REDIS_QUEUE_JOIN;
    fx->sends[0].args[REDIS_ARG_TICKET] = (int64_t)m->inner.ticket;
}

COMMAND(new_ticket_command)
{
    queue_command(state, request, cmd, fx);
    if (fx->send_count > 0 && fx->sends[0].command == REDIS_QUEUE_JOIN)
        fx->sends[0].args[REDIS_ARG_TICKET] = 0;
}

COMMAND(just_loses_command)
{
    bwl_queue_mutant_state *m = state;

    if (cmd->verb == BWL_ACQUIRE)
        m->until = 0;
    if (cmd->verb == BWL_RELEASE && m->until != 0 && cmd->now >= m->until) {
        m->inner.phase         = BWL_QUEUE_IDLE;
        m->inner.in_flight.tag = 0;
        bwl_complete(fx, BWL_RELEASED);
    } else {
        queue_command(state, request, cmd, fx);
    }
}

COMMAND(just_yields_command)
{
    bwl_queue_mutant_state *m = state;

    if (cmd->again || cmd->verb == BWL_RELEASE)
        m->inner.previous_may_own = false;
    queue_command(state, request, cmd, fx);
}

COMMAND(still_shares_command)
{
    bwl_lock_request shared = *request;
    bool             renews = cmd->verb == BWL_EXTEND && !cmd->downgrades && !cmd->upgrades;

    if (renews && shared.attempt == 1)
        shared.share.weight = 1;
    queue_command(state, &shared, cmd, fx);
}

#define QUEUE_MUTANT(NAME, COMMAND_, EVENT_)                                                 \
    MUTANT(bwl_mutant_##NAME, "queue", sizeof(bwl_queue_mutant_state), queue_init, COMMAND_, \
           EVENT_, .uses_push = true, .yields = true, .shares = true, .changes = true, )

QUEUE_MUTANT(from_push, queue_command, from_push_event);
QUEUE_MUTANT(timer_joins, queue_command, timer_joins_event);
QUEUE_MUTANT(only_listens, queue_command, only_listens_event);
QUEUE_MUTANT(joins_again, joins_again_command, queue_event);
QUEUE_MUTANT(new_ticket, new_ticket_command, queue_event);
QUEUE_MUTANT(just_loses, just_loses_command, queue_event);
QUEUE_MUTANT(just_yields, just_yields_command, queue_event);
QUEUE_MUTANT(still_shares, still_shares_command, queue_event);

/* ---- replicated locks ------------------------------------------------------------------------ */

EVENT(deaf_event)
{
    bwl_event heard = *ev;

    if (ev->kind == BWL_REPLY && ev->answer == BWL_NO && (ev->tag & BWL_SYNCED_TAG) != 0)
        heard.answer = BWL_YES;
    bwl_synced_token.event(state, request, &heard, fx);
}

/* It asks for no replica, which a server answers with YES at once. */
EVENT(alone_event)
{
    const bwl_synced_state *view = state;

    bwl_synced_token.event(state, request, ev, fx);
    if (fx->send_count > 0 && fx->sends[0].command == REDIS_REPLICATED && view->verb == BWL_EXTEND)
        fx->sends[0].args[REDIS_ARG_REPLICAS] = 0;
}

/* A push is taken for the answer to its command. */
EVENT(early_event)
{
    bool is_given = ev->kind == BWL_PUSH;

    bwl_synced_queue.event(state, request, ev, fx);
    if (!is_given || fx->send_count != 1 || fx->sends[0].command != REDIS_QUEUE_EXTEND)
        return;
    bwl_event confirmed = { .kind   = BWL_REPLY,
                            .answer = BWL_YES,
                            .tag    = fx->sends[0].tag,
                            .now    = ev->now,
                            .fresh  = ev->fresh };
    fx->send_count      = 0;
    bwl_synced_queue.event(state, request, &confirmed, fx);
}

SAME_INIT(synced_token)
SAME_INIT(synced_queue)
SAME_COMMAND(synced_token)
SAME_COMMAND(synced_queue)

#define SYNCED_TOKEN(NAME)                                                          \
    MUTANT(bwl_mutant_##NAME, "token", sizeof(bwl_synced_state), synced_token_init, \
           synced_token_command, NAME##_event, )

SYNCED_TOKEN(deaf);
SYNCED_TOKEN(alone);
MUTANT(bwl_mutant_early, "queue", sizeof(bwl_synced_state), synced_queue_init, synced_queue_command,
       early_event, .uses_push = true, .yields = true, );

/* ---- redlock --------------------------------------------------------------------------------- */

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

EVENT(no_undo_event)
{
    bwl_redlock.event(state, request, ev, fx);
    if (state_of(state)->verb == BWL_ACQUIRE)
        fx->send_count = 0;
}

EVENT(of_answering_event)
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

EVENT(no_elapsed_event)
{
    bwl_redlock.event(state, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        fx->outcome.until = ev->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
}

EVENT(overwrites_event)
{
    bwl_redlock.event(state, request, ev, fx);
    for (unsigned i = 0; i < fx->send_count; i++)
        if (fx->sends[i].command == REDIS_SET_IF_ABSENT)
            fx->sends[i].command = REDIS_SWAP;
}

EVENT(undo_and_ask_event)
{
    bwl_redlock_state *r = state_of(state);

    bwl_redlock.event(state, request, ev, fx);
    if (r->verb == BWL_ACQUIRE && fx->outcome.kind == BWL_NOT_NOW && fx->send_count == 0)
        for (unsigned i = 0; i < r->nodes; i++)
            bwl_send_command(fx, i, REDIS_DELETE_IF_MINE, r->round);
}

SAME_INIT(redlock)
SAME_COMMAND(redlock)

#define REDLOCK(NAME, PROTOCOL)                                                                   \
    MUTANT(bwl_mutant_##NAME, PROTOCOL, sizeof(bwl_redlock_state), redlock_init, redlock_command, \
           NAME##_event, )

REDLOCK(no_undo, "redlock-no-undo");
REDLOCK(of_answering, "redlock-of-answering");
REDLOCK(no_elapsed, "redlock-no-elapsed");
REDLOCK(overwrites, "redlock-overwrites");
REDLOCK(undo_and_ask, "redlock-undo-and-ask");

/* ---- symfony --------------------------------------------------------------------------------- */

/* Each PHP host uses its own clock.  The commands have the client's wall time, which the model
 * server uses as its own. */

enum { NS_IN_MS = 1000000, SYMFONY_SIZE = 32 };

static void symfony_init(void *state, unsigned nodes)
{
    assert(bwl_symfony.state_size <= SYMFONY_SIZE);
    bwl_symfony.init(state, nodes);
}

COMMAND(clock_command)
{
    bwl_symfony.command(state, request, cmd, fx);
    fx->sends[fx->send_count - 1].args[REDIS_ARG_TIMESTAMP] = cmd->wall_ns / NS_IN_MS;
}

EVENT(clock_event)
{
    bwl_symfony.event(state, request, ev, fx);
}

MUTANT(bwl_mutant_symfony_clock, "symfony by the clock of each client", SYMFONY_SIZE, symfony_init,
       clock_command, clock_event, .uses_wall = true, .retries_on_push = true, );
