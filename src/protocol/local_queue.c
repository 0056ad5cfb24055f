/*
 * local_queue.c -- a lock whose store keeps the queue itself: threads of one process, or processes
 * of one machine.
 *
 *      acquire   JOIN the queue; at its head with nobody holding: ours
 *                behind others: wait to be told, then TRY; told that it is ours: ours
 *      extend    nothing to do: no lease, nothing but we ends it
 *      release   LEAVE the queue, from its head or from the middle
 *
 * A push that says "worth a try" may come a moment before the try can succeed: Linux reports the
 * closing of a file before it drops the locks on it.  So a try that fails is repeated after 1, 2,
 * 4, 8 ... milliseconds, doubling without end: however long the closing takes, we come at most as
 * much again after it, for a number of tries that grows only with the logarithm of the wait.
 * Where nobody pushes, the doubling stops at 128 ms and this is polling; where the store grants, we
 * only wait.
 *
 *      IDLE --acquire--> JOINING --no--> QUEUED <--no-- TRYING
 *                           |               |  --push, alarm-->
 *                           +----- yes -----+----- yes --> HELD --release--> LEAVING --> IDLE
 *      JOINING --later--> LATCHED --alarm--> JOINING
 */
#include "protocol/local_lock.h"
#include "protocol/store/local.h"

enum { STORE = 0, NOTHING = 0, POLL_MAX_MS = 128, LATCH_MAX_MS = 16, LATCH_TRIES_MAX = 12 };

typedef enum phase { IDLE = 1, JOINING, LATCHED, QUEUED, TRYING, HELD, LEAVING } phase;

typedef struct ticket_state {
    phase    phase;
    bool     may_wait;
    bool     queued_told; /* that we wait was told: only HELD or a refusal may follow          */
    uint64_t tells;       /* how we shall learn of our turn: LOCAL_WILL_...                     */
    uint32_t asked;
    uint32_t last_tag;
    uint32_t latched; /* how often the store's latch was taken                             */
    uint64_t fence;
    bwl_ms   pause_ms; /* before the next try                                               */
} ticket_state;

static void ticket_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(ticket_state *)state = (ticket_state){ .phase = IDLE };
}

static void send_command(ticket_state *t, phase next, bwl_local_command command, bwl_effects *fx)
{
    t->phase = next;
    t->asked = ++t->last_tag;
    bwl_send_command(fx, STORE, command, t->asked);
    bwl_wake_at(fx, BWL_NEVER);
}

static void join(ticket_state *t, bwl_effects *fx)
{
    send_command(t, JOINING, t->may_wait ? LOCAL_JOIN : LOCAL_JOIN_OR_LEAVE, fx);
}

static void look(ticket_state *t, bwl_effects *fx)
{
    send_command(t, TRYING, LOCAL_TRY, fx);
}

static void ticket_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                           bwl_effects *fx)
{
    ticket_state *t = state;

    (void)request; /* no token and no lease: the kernel, or our own table, knows who we are */
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        assert(t->phase == IDLE);
        *t = (ticket_state){
            .phase    = IDLE,
            .may_wait = cmd->may_wait,
            .last_tag = t->last_tag,
            .pause_ms = 1,
        };
        join(t, fx);
        break;
    case BWL_EXTEND:
        assert(t->phase == HELD);
        bwl_complete_held(fx, BWL_NEVER, t->fence);
        break;
    case BWL_RELEASE: send_command(t, LEAVING, LOCAL_LEAVE, fx); break;
    }
}

static void ours(ticket_state *t, uint64_t fence, bwl_effects *fx)
{
    t->phase = HELD;
    t->fence = fence;
    bwl_complete_held(fx, BWL_NEVER, fence);
    bwl_wake_at(fx, BWL_NEVER);
}

static void stand_in_queue(ticket_state *t, bwl_effects *fx)
{
    if (!t->queued_told)
        bwl_complete(fx, BWL_QUEUED);
    t->queued_told = true;
}

/* Somebody is before us.  Look again after a pause, and then after a longer one. */
static void not_yet(ticket_state *t, bwl_ms now, bwl_effects *fx)
{
    t->phase = QUEUED;
    stand_in_queue(t, fx);
    if (t->tells == LOCAL_WILL_GRANT)
        return;
    if (t->tells == LOCAL_WILL_NOT)
        t->pause_ms = bwl_ms_min(t->pause_ms, POLL_MAX_MS);
    bwl_wake_at(fx, bwl_ms_add(now, t->pause_ms));
    t->pause_ms = bwl_ms_add(t->pause_ms, t->pause_ms);
}

/* The latch is held for microseconds; longer only when its holder was stopped just then. */
static void latch_taken(ticket_state *t, bwl_ms now, bwl_effects *fx)
{
    t->phase = LATCHED;
    if (t->may_wait) {
        stand_in_queue(t, fx);
    } else if (++t->latched == LATCH_TRIES_MAX) {
        t->phase = IDLE;
        bwl_complete(fx, BWL_NOT_NOW);
        return;
    }
    bwl_wake_at(fx, bwl_ms_add(now, t->pause_ms));
    t->pause_ms = bwl_ms_min(t->pause_ms * 2, LATCH_MAX_MS);
}

static void joined(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    switch (ev->answer) {
    case BWL_YES: ours(t, ev->number, fx); break;
    case BWL_NO:
        t->tells    = ev->number;
        t->pause_ms = 1;
        if (t->may_wait) {
            not_yet(t, ev->now, fx);
        } else {
            t->phase = IDLE;
            bwl_complete(fx, BWL_BUSY);
        }
        break;
    case BWL_RETRYABLE: latch_taken(t, ev->now, fx); break;
    case BWL_REFUSED:
    case BWL_NOT_SENT:
    case BWL_FOREIGN_VALUE:
        t->phase = IDLE;
        bwl_complete(fx, BWL_STORE_REFUSED);
        break;
    }
}

static void tried(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    switch (ev->answer) {
    case BWL_YES: ours(t, ev->number, fx); break;
    case BWL_NO:
        t->tells = ev->number;
        not_yet(t, ev->now, fx);
        break;
    case BWL_RETRYABLE:
        t->pause_ms = 1;
        join(t, fx);
        break;
    case BWL_REFUSED:
    case BWL_NOT_SENT:
    case BWL_FOREIGN_VALUE:
        t->phase = IDLE;
        bwl_complete(fx, BWL_STORE_REFUSED);
        break;
    }
}

static void replied(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    if (t->asked == NOTHING || ev->tag != t->asked)
        return;
    t->asked = NOTHING;
    switch (t->phase) {
    case JOINING: joined(t, ev, fx); break;
    case TRYING: tried(t, ev, fx); break;
    case LEAVING:
        t->phase = IDLE;
        bwl_complete(fx, ev->answer == BWL_YES ? BWL_RELEASED : BWL_STORE_REFUSED);
        break;
    case IDLE:
    case LATCHED:
    case QUEUED:
    case HELD: bwl_unreachable("no question is open in these phases");
    }
}

static void pushed(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    if (t->phase != QUEUED && t->phase != TRYING)
        return; /* about a place in the queue that we have left */
    if (ev->answer == BWL_YES) {
        t->asked = NOTHING;
        ours(t, ev->number, fx);
        return;
    }
    t->pause_ms = 1; /* while a TRY is out: its no may be older than this push */
    if (t->phase == QUEUED)
        look(t, fx);
}

static void ticket_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                         bwl_effects *fx)
{
    ticket_state *t = state;

    (void)request;
    switch (ev->kind) {
    case BWL_REPLY: replied(t, ev, fx); break;
    case BWL_PUSH: pushed(t, ev, fx); break;
    case BWL_ALARM:
        if (t->phase == QUEUED)
            look(t, fx);
        else if (t->phase == LATCHED)
            join(t, fx);
        break;
    case BWL_DOWN: break; /* a store of this machine does not go away */
    }
}

const bwl_protocol bwl_ticket = {
    .name             = "ticket",
    .state_size       = sizeof(ticket_state),
    .extends          = true,
    .can_verify_owner = true,
    .init             = ticket_init,
    .command          = ticket_command,
    .event            = ticket_event,
};
