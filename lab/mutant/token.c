#include "lab/mutant/token.h"
#include "lab/world/private_state.h"
#include "protocol/token_lock.h"

static void mutant_init(void *state, unsigned nodes)
{
    bwl_mutant_state *m = state;

    assert(bwl_token.state_size <= BWL_MUTANT_INNER_SIZE);
    *m = (bwl_mutant_state){ 0 };
    bwl_token.init(m->inner, nodes);
}

static void mutant_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                           bwl_effects *fx)
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

static void from_answer_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                              bwl_effects *fx)
{
    inner_event(state, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        fx->outcome.until = lease_from(ev->now, request);
}

static void no_drift_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                           bwl_effects *fx)
{
    inner_event(state, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD)
        fx->outcome.until += bwl_drift_ms(request->lease_ms);
}

static void from_settling_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                                bwl_effects *fx)
{
    bwl_mutant_state *m = state;

    inner_event(m, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD && m->again)
        fx->outcome.until = lease_from(m->sent_at, request);
}

static void no_is_yes_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                            bwl_effects *fx)
{
    bwl_mutant_state *m = state;

    inner_event(m, request, ev, fx);
    if (m->again)
        tell_lie(m, request, (lie){ BWL_ACQUIRE, BWL_BUSY, BWL_HELD }, fx);
}

static void any_answer_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                             bwl_effects *fx)
{
    bwl_mutant_state *m    = state;
    bwl_event         ours = *ev;

    ours.tag = m->tag;
    inner_event(m, request, &ours, fx);
}

static void silent_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                         bwl_effects *fx)
{
    if (ev->kind != BWL_DOWN)
        inner_event(state, request, ev, fx);
}

static void asks_on_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                          bwl_effects *fx)
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

static void hammers_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                          bwl_effects *fx)
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

static void fenced_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                         bwl_effects *fx)
{
    bwl_mutant_state *m = state;

    inner_event(m, request, ev, fx);
    if (fx->outcome.kind == BWL_HELD && m->verb == BWL_ACQUIRE)
        fx->outcome.fence = ev->number;
}

#define WRAPPED(NAME, EVENT)                          \
    const bwl_protocol NAME = {                       \
        .name             = "token",                  \
        .state_size       = sizeof(bwl_mutant_state), \
        .uses_token       = true,                     \
        .extends          = true,                     \
        .can_verify_owner = true,                     \
        .init             = mutant_init,              \
        .command          = mutant_command,           \
        .event            = EVENT,                    \
    }
#define MUTANT(NAME) WRAPPED(bwl_mutant_##NAME, NAME##_event)

/* A mutant that only tells a lie. */
#define LIAR(NAME, VERB, TRUTH, KIND)                                                           \
    static void NAME##_event(void *state, const bwl_lock_request *request, const bwl_event *ev, \
                             bwl_effects *fx)                                                   \
    {                                                                                           \
        inner_event(state, request, ev, fx);                                                    \
        tell_lie(state, request, (lie){ VERB, TRUTH, KIND }, fx);                               \
    }                                                                                           \
    MUTANT(NAME)

LIAR(down_is_no, BWL_ACQUIRE, BWL_UNKNOWN, BWL_BUSY);
LIAR(down_is_yes, BWL_ACQUIRE, BWL_UNKNOWN, BWL_HELD);
LIAR(down_extends, BWL_EXTEND, BWL_UNKNOWN, BWL_HELD);
LIAR(down_loses, BWL_EXTEND, BWL_UNKNOWN, BWL_LOST);
LIAR(down_releases, BWL_RELEASE, BWL_UNKNOWN, BWL_RELEASED);
LIAR(deaf_to_loss, BWL_EXTEND, BWL_LOST, BWL_HELD);
LIAR(sleeps, BWL_ACQUIRE, BWL_BUSY, BWL_QUEUED);
LIAR(gone_is_done, BWL_RELEASE, BWL_LOST, BWL_RELEASED);
MUTANT(from_answer);
MUTANT(no_drift);
MUTANT(from_settling);
MUTANT(no_is_yes);
MUTANT(any_answer);
MUTANT(silent);
MUTANT(asks_on);
MUTANT(hammers);

WRAPPED(bwl_fenced, fenced_event);
