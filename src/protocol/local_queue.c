/*
 * local_queue.c -- the protocol `ticket`: a lock whose store keeps the queue itself.  The store is
 * the table of threads in this process, or the lock files of this machine.
 *
 *      acquire   JOIN the queue; if the queue is empty and the request fits: held
 *                otherwise: wait for a push, then TRY; or the push itself grants the lock
 *      extend    nothing to do: there is no lease; DOWNGRADE or UPGRADE, if it changes the mode
 *      release   LEAVE
 *
 * A push with NO (LOCAL_WILL_PUSH) may come a moment before a TRY can succeed: Linux reports that a
 * file was closed before it drops the locks on it.  So a failed TRY is repeated after 1, 2, 4, 8
 * ... milliseconds, without a limit: the delay is at most as long as the time that the kernel
 * needed, and the number of tries is its logarithm.  With LOCAL_WILL_NOT (no pushes) the pause is
 * at most 128 ms, so this is polling.  With LOCAL_WILL_GRANT there are no tries.
 *
 *      IDLE --acquire--> JOINING --no--> QUEUED <--no-- TRYING
 *                           |               |  --push, alarm-->
 *                           +----- yes -----+----- yes --> HELD --release--> LEAVING --> IDLE
 *                                                          `--> CHANGING --> HELD
 *      JOINING --retryable--> LATCHED --alarm--> JOINING
 */
#include "core/one_request.h"
#include "protocol/local_lock.h"
#include "protocol/store/local.h"

enum { NO_REQUEST = 0, POLL_MAX_MS = 128, LATCH_MAX_MS = 16, LATCH_TRIES_MAX = 12 };

typedef enum phase { IDLE = 1, JOINING, LATCHED, QUEUED, TRYING, HELD, CHANGING, LEAVING } phase;

typedef struct ticket_state {
    phase           phase;
    bool            may_wait;
    bool            is_reported; /* the outcome QUEUED: only HELD or STORE_REFUSED may follow */
    uint64_t        store_will;  /* LOCAL_WILL_... */
    bwl_one_request in_flight;
    uint32_t        latched; /* replies RETRYABLE to JOIN */
    uint64_t        fence;
    bwl_ms          pause_ms; /* before the next try */
} ticket_state;

static void ticket_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(ticket_state *)state = (ticket_state){ .phase = IDLE };
}

static void send_command(ticket_state *t, phase next, bwl_local_command command, bwl_effects *fx)
{
    t->phase = next;
    bwl_send_one(&t->in_flight, command, fx);
    bwl_wake_at(fx, BWL_NEVER);
}

static void join(ticket_state *t, bwl_effects *fx)
{
    send_command(t, JOINING, t->may_wait ? LOCAL_JOIN : LOCAL_JOIN_OR_LEAVE, fx);
}

static void ticket_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                           bwl_effects *fx)
{
    ticket_state *t = state;

    (void)request; /* no token and no lease: the store knows the owner of an entry */
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        assert(t->phase == IDLE);
        *t = (ticket_state){
            .phase     = IDLE,
            .may_wait  = cmd->may_wait,
            .in_flight = { .last_tag = t->in_flight.last_tag },
            .pause_ms  = 1,
        };
        join(t, fx);
        break;
    case BWL_EXTEND:
        assert(t->phase == HELD);
        if (cmd->downgrades || cmd->upgrades)
            send_command(t, CHANGING, cmd->downgrades ? LOCAL_DOWNGRADE : LOCAL_UPGRADE, fx);
        else
            bwl_complete_held(fx, BWL_NEVER, t->fence);
        break;
    case BWL_RELEASE: send_command(t, LEAVING, LOCAL_LEAVE, fx); break;
    }
}

static void ended(ticket_state *t, bwl_outcome_kind kind, bwl_effects *fx)
{
    t->phase = IDLE;
    bwl_complete(fx, kind);
}

static void held(ticket_state *t, uint64_t fence, bwl_effects *fx)
{
    t->phase = HELD;
    t->fence = fence;
    bwl_complete_held(fx, BWL_NEVER, fence);
    bwl_wake_at(fx, BWL_NEVER);
}

static void report_queued(ticket_state *t, bwl_effects *fx)
{
    if (!t->is_reported)
        bwl_complete(fx, BWL_QUEUED);
    t->is_reported = true;
}

/* In the queue: sends TRY after a pause, which doubles each time. */
static void queued(ticket_state *t, bwl_ms now, bwl_effects *fx)
{
    t->phase = QUEUED;
    report_queued(t, fx);
    if (t->store_will == LOCAL_WILL_GRANT)
        return;
    if (t->store_will == LOCAL_WILL_NOT)
        t->pause_ms = bwl_ms_min(t->pause_ms, POLL_MAX_MS);
    bwl_wake_at(fx, bwl_ms_add(now, t->pause_ms));
    t->pause_ms = bwl_ms_add(t->pause_ms, t->pause_ms);
}

/* The internal lock of the store is taken for microseconds, or for longer if its holder was stopped
 * just then. */
static void latch_taken(ticket_state *t, bwl_ms now, bwl_effects *fx)
{
    t->phase = LATCHED;
    if (t->may_wait) {
        report_queued(t, fx);
    } else if (++t->latched == LATCH_TRIES_MAX) {
        ended(t, BWL_NOT_NOW, fx);
        return;
    }
    bwl_wake_at(fx, bwl_ms_add(now, t->pause_ms));
    t->pause_ms = bwl_ms_min(t->pause_ms * 2, LATCH_MAX_MS);
}

/* The reply to JOIN or TRY. */
static void answered(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    bool is_join = t->phase == JOINING;

    switch (ev->answer) {
    case BWL_YES: held(t, ev->number, fx); break;
    case BWL_NO:
        t->store_will = ev->number;
        t->pause_ms   = is_join ? 1 : t->pause_ms;
        if (is_join && !t->may_wait)
            ended(t, BWL_BUSY, fx);
        else
            queued(t, ev->now, fx);
        break;
    case BWL_RETRYABLE:
        if (is_join) {
            latch_taken(t, ev->now, fx);
        } else {
            t->pause_ms = 1;
            join(t, fx);
        }
        break;
    case BWL_REFUSED:
    case BWL_NOT_SENT:
    case BWL_FOREIGN_VALUE: ended(t, BWL_STORE_REFUSED, fx); break;
    }
}

static void changed(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    assert(ev->answer == BWL_YES || ev->answer == BWL_NO);
    if (ev->answer == BWL_YES) {
        held(t, ev->number, fx);
        return;
    }
    t->phase = HELD;
    bwl_complete(fx, BWL_BUSY);
    fx->outcome.until = BWL_NEVER;
}

static void replied(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    if (!bwl_ends_request(&t->in_flight, ev))
        return;
    switch (t->phase) {
    case JOINING:
    case TRYING: answered(t, ev, fx); break;
    case CHANGING: changed(t, ev, fx); break;
    case LEAVING: ended(t, ev->answer == BWL_YES ? BWL_RELEASED : BWL_STORE_REFUSED, fx); break;
    case IDLE:
    case LATCHED:
    case QUEUED:
    case HELD: bwl_unreachable("no command is in flight in these phases");
    }
}

static void pushed(ticket_state *t, const bwl_event *ev, bwl_effects *fx)
{
    if (t->phase != QUEUED && t->phase != TRYING)
        return; /* of an entry that has left the queue */
    if (ev->answer == BWL_YES) {
        t->in_flight.tag = NO_REQUEST;
        held(t, ev->number, fx);
        return;
    }
    t->pause_ms = 1; /* also while a TRY is in flight: its NO may be older than this push */
    if (t->phase == QUEUED)
        send_command(t, TRYING, LOCAL_TRY, fx);
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
            send_command(t, TRYING, LOCAL_TRY, fx);
        else if (t->phase == LATCHED)
            join(t, fx);
        break;
    case BWL_DOWN: break; /* a store on this machine has no connection */
    }
}

/* The protocol does not look at the share of a request: the store does, or has none. */
#define TICKET(SHARES, CHANGES)                                                                  \
    {                                                                                            \
        .name = "ticket", .state_size = sizeof(ticket_state), .extends = true,                   \
        .can_verify_owner = true, .shares = (SHARES), .changes = (CHANGES), .init = ticket_init, \
        .command = ticket_command, .event = ticket_event,                                        \
    }

const bwl_protocol bwl_ticket          = TICKET(false, false);
const bwl_protocol bwl_sharing_ticket  = TICKET(true, false);
const bwl_protocol bwl_changing_ticket = TICKET(true, true);
