/*
 * local_waiter.c -- a lock that several threads of one client want; they have one entry in the
 * store's queue between them: see lock/local_group.h.
 *
 *      acquire   ENQUEUE, then wait for the result
 *      extend    EXTEND
 *      release   LEAVE
 *
 * The guarantees are those of the local group, which gives no more than the store does.
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
    ENQUEUED, /* ENQUEUE is in flight, or was answered by QUEUED */
    HELD,
    EXTENDING,
    LEAVING,
} phase;

typedef struct waiter_state {
    phase           phase;
    bwl_one_request asking;
} waiter_state;

static void waiter_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(waiter_state *)state = (waiter_state){ .phase = IDLE };
}

static void send_command(waiter_state *s, phase next, bwl_waiter_command command, bwl_effects *fx)
{
    s->phase = next;
    bwl_send_one(&s->asking, command, fx);
    bwl_wake_at(fx, BWL_NEVER); /* the local group always replies */
}

static void waiter_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                           bwl_effects *fx)
{
    waiter_state *s = state;

    (void)request; /* the local group reads the lease from the hold */
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        assert(s->phase == IDLE);
        send_command(s, ENQUEUED, WAITER_ENQUEUE, fx);
        break;
    case BWL_EXTEND:
        assert(s->phase == HELD);
        send_command(s, EXTENDING, WAITER_EXTEND, fx);
        break;
    case BWL_RELEASE: send_command(s, LEAVING, WAITER_LEAVE, fx); break;
    }
}

static void held(waiter_state *s, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_outcome *granted = ev->details;

    s->phase = HELD;
    bwl_complete_held(fx, granted->until, granted->fence);
}

/* Not held, with the reason; or not yet; or still held, with the error of its renewal. */
static void no(waiter_state *s, bwl_outcome_kind why, bwl_effects *fx)
{
    assert(why != BWL_PENDING && why != BWL_HELD && why != BWL_RELEASED);
    if (s->phase == ENQUEUED && why != BWL_QUEUED)
        s->phase = IDLE;
    else if (s->phase != ENQUEUED)
        s->phase = why == BWL_LOST ? IDLE : HELD;
    if (s->phase == IDLE)
        s->asking.asked = 0;
    bwl_complete(fx, why);
}

static void left(waiter_state *s, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_outcome *result = ev->details;

    s->phase = IDLE;
    bwl_complete(fx, ev->answer == BWL_YES ? BWL_RELEASED : result->kind);
}

static void waiter_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                         bwl_effects *fx)
{
    waiter_state *s       = state;
    bool          is_push = ev->kind == BWL_PUSH;

    (void)request;
    if (!is_push && !bwl_ends_request(&s->asking, ev))
        return;
    assert(ev->kind == BWL_PUSH ||
           ev->kind == BWL_REPLY); /* there is no connection that could end */
    switch (s->phase) {
    case ENQUEUED:
    case HELD:
    case EXTENDING:
        if (ev->answer == BWL_YES)
            held(s, ev, fx);
        else
            no(s, ((const bwl_outcome *)ev->details)->kind, fx);
        return;
    case LEAVING:
        if (!is_push)
            left(s, ev, fx);
        return;
    case IDLE: return; /* of a hold that is over */
    }
}

const bwl_protocol bwl_local_waiter_protocol = {
    .name             = "seat",
    .state_size       = sizeof(waiter_state),
    .extends          = true,
    .can_verify_owner = true,
    .init             = waiter_init,
    .command          = waiter_command,
    .event            = waiter_event,
};
