/*
 * local_waiter.c -- the protocol of a waiter in a local group: several threads of one client that
 * want the same lock (lock/local_group.h).
 *
 *      acquire   ENQUEUE, then wait for the result
 *      extend    EXTEND
 *      release   LEAVE
 *
 * The guarantees are those of the store.
 *
 *      IDLE --acquire--> ENQUEUED --yes--> HELD <--> EXTENDING
 *        ^                  |                |          |
 *        +--no, any reason--+------lost------+----------+
 *        +--any answer-- LEAVING <--release-- any
 */
#include "core/one_request.h"
#include "protocol/local_lock.h"
#include "protocol/store/waiter.h"

typedef enum phase {
    IDLE = 1,
    ENQUEUED, /* ENQUEUE is in flight, or the reply was QUEUED */
    HELD,
    EXTENDING,
    LEAVING,
} phase;

typedef struct waiter_state {
    phase           phase;
    bwl_one_request in_flight;
} waiter_state;

static void waiter_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(waiter_state *)state = (waiter_state){ .phase = IDLE };
}

static void send_command(waiter_state *w, phase next, bwl_waiter_command command, bwl_effects *fx)
{
    w->phase = next;
    bwl_send_one(&w->in_flight, command, fx);
    bwl_wake_at(fx, BWL_NEVER); /* the local group always replies */
}

static void waiter_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                           bwl_effects *fx)
{
    waiter_state *w = state;

    (void)request; /* the local group reads the lease from the hold */
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        assert(w->phase == IDLE);
        send_command(w, ENQUEUED, WAITER_ENQUEUE, fx);
        break;
    case BWL_EXTEND:
        assert(w->phase == HELD);
        send_command(w, EXTENDING, WAITER_EXTEND, fx);
        break;
    case BWL_RELEASE: send_command(w, LEAVING, WAITER_LEAVE, fx); break;
    }
}

static void held(waiter_state *w, const bwl_outcome *granted, bwl_effects *fx)
{
    w->phase = HELD;
    bwl_complete_held(fx, granted->until, granted->fence);
}

/* A NO.  ENQUEUED: in the queue, or the wait has failed.  Later: lost, or still held and its
 * renewal failed. */
static void not_granted(waiter_state *w, bwl_outcome_kind why, bwl_effects *fx)
{
    assert(why != BWL_PENDING && why != BWL_HELD && why != BWL_RELEASED);
    if (w->phase == ENQUEUED && why != BWL_QUEUED)
        w->phase = IDLE;
    else if (w->phase != ENQUEUED)
        w->phase = why == BWL_LOST ? IDLE : HELD;
    if (w->phase == IDLE)
        w->in_flight.tag = 0;
    bwl_complete(fx, why);
}

static void waiter_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                         bwl_effects *fx)
{
    waiter_state      *w       = state;
    const bwl_outcome *result  = ev->details;
    bool               is_push = ev->kind == BWL_PUSH;

    (void)request;
    if (!is_push && !bwl_ends_request(&w->in_flight, ev))
        return;
    assert(ev->kind != BWL_DOWN); /* there is no connection */
    switch (w->phase) {
    case ENQUEUED:
    case HELD:
    case EXTENDING:
        if (ev->answer == BWL_YES)
            held(w, result, fx);
        else
            not_granted(w, result->kind, fx);
        return;
    case LEAVING:
        if (is_push)
            return;
        w->phase = IDLE;
        bwl_complete(fx, ev->answer == BWL_YES ? BWL_RELEASED : result->kind);
        return;
    case IDLE: return; /* of a hold that is over */
    }
}

const bwl_protocol bwl_local_waiter_protocol = {
    .name             = "local-waiter",
    .state_size       = sizeof(waiter_state),
    .extends          = true,
    .can_verify_owner = true,
    .init             = waiter_init,
    .command          = waiter_command,
    .event            = waiter_event,
};
