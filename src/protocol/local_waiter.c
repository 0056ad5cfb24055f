/*
 * local_waiter.c -- a lock that others of the same client want too, who have one place in the
 * store's queue between them: see lock/local_group.h.
 *
 *      acquire   SIT, and then wait to be told
 *      extend    EXTEND
 *      release   LEAVE
 *
 * Everything that this promises is the cohort's word, which is the store's, or less.
 *
 *      IDLE --acquire--> SITTING --yes--> HELD <--> EXTENDING
 *        ^                  |                |          |
 *        +--no, any reason--+------lost------+----------+
 *        +--any answer-- LEAVING <--release-- any
 */
#include "core/asking.h"
#include "protocol/protocol.h"
#include "protocol/store/seat.h"

typedef enum phase {
    IDLE = 1,
    SITTING, /* SIT is out, or was answered by QUEUED */
    HELD,
    EXTENDING,
    LEAVING,
} phase;

typedef struct seat_state {
    phase      phase;
    bwl_asking asking;
} seat_state;

static void seat_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(seat_state *)state = (seat_state){ .phase = IDLE };
}

static void ask(seat_state *s, phase next, bwl_seat_word word, bwl_effects *fx)
{
    s->phase = next;
    bwl_ask_one(&s->asking, word, 0, fx);
    bwl_wake_at(fx, BWL_NEVER); /* whoever keeps the seats answers */
}

static void seat_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                         bwl_effects *fx)
{
    seat_state *s = state;

    (void)claim; /* whoever keeps the seats looks at the lease himself */
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        assert(s->phase == IDLE);
        ask(s, SITTING, SEAT_SIT, fx);
        break;
    case BWL_EXTEND:
        assert(s->phase == HELD);
        ask(s, EXTENDING, SEAT_EXTEND, fx);
        break;
    case BWL_RELEASE: ask(s, LEAVING, SEAT_LEAVE, fx); break;
    }
}

static void held(seat_state *s, const bwl_event *ev, bwl_effects *fx)
{
    s->phase = HELD;
    bwl_tell_held(fx, ev->until, ev->number);
}

/* Not ours, and why; or not yet; or ours still, and what is wrong. */
static void no(seat_state *s, bwl_outcome_kind why, bwl_effects *fx)
{
    assert(why != BWL_PENDING && why != BWL_HELD && why != BWL_RELEASED);
    if (s->phase == SITTING && why != BWL_QUEUED)
        s->phase = IDLE;
    else if (s->phase != SITTING)
        s->phase = why == BWL_LOST ? IDLE : HELD;
    if (s->phase == IDLE)
        s->asking.asked = 0;
    bwl_tell(fx, why);
}

static void left(seat_state *s, const bwl_event *ev, bwl_effects *fx)
{
    s->phase = IDLE;
    bwl_tell(fx, ev->answer == BWL_YES ? BWL_RELEASED : (bwl_outcome_kind)ev->number);
}

static void seat_event(void *state, const bwl_claim *claim, const bwl_event *ev, bwl_effects *fx)
{
    seat_state *s       = state;
    bool        is_push = ev->kind == BWL_PUSH;

    (void)claim;
    if (!is_push && !bwl_ends_question(&s->asking, ev))
        return;
    assert(ev->kind == BWL_PUSH || ev->kind == BWL_REPLY); /* what is in this process stays up */
    switch (s->phase) {
    case SITTING:
    case HELD:
    case EXTENDING:
        if (ev->answer == BWL_YES)
            held(s, ev, fx);
        else
            no(s, (bwl_outcome_kind)ev->number, fx);
        return;
    case LEAVING:
        if (!is_push)
            left(s, ev, fx);
        return;
    case IDLE: return; /* about a turn that is over */
    }
}

const bwl_protocol bwl_seat_protocol = {
    .name       = "seat",
    .state_size = sizeof(seat_state),
    .extends    = true,
    .settles    = true,
    .init       = seat_init,
    .command    = seat_command,
    .event      = seat_event,
};
