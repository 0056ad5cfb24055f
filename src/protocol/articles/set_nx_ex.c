/*
 * set_nx_ex.c -- a key that is set with an expiry, in one step.
 *
 *      acquire   SET key 1 NX EX lease
 *      release   DEL key                       0: "release failed"
 *
 * "Redis的分布式锁", the fifth way.  If the holder dies, the key stays for at most one lease.
 *
 * What it does not promise: that a release deletes the holder's own key.  All values are the same.
 * If the holder exceeds its lease, its DEL deletes the lock of the next holder, and a third client
 * acquires it.
 *
 *      IDLE --acquire--> SETTING --> IDLE          IDLE --release--> DELETING --> IDLE
 */
#include "protocol/articles.h"

enum { NO_FENCE = 0 };

typedef struct nx_ex_state {
    bwl_one_request in_flight;
    bwl_verb        verb;
    bwl_ms          until; /* end of the lease after a YES to SET: counted from when it was sent */
} nx_ex_state;

static void nx_ex_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(nx_ex_state *)state = (nx_ex_state){ 0 };
}

static void nx_ex_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    nx_ex_state *n = state;

    assert(n->in_flight.tag == 0);
    assert(!cmd->again);
    n->verb = cmd->verb;
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        n->until = cmd->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
        bwl_article_send(&n->in_flight, REDIS_SET_IF_ABSENT, 0, fx);
        break;
    case BWL_RELEASE: bwl_article_send(&n->in_flight, REDIS_DELETE, 0, fx); break;
    case BWL_EXTEND: bwl_unreachable("this lock is never extended");
    }
}

static void nx_ex_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    nx_ex_state *n = state;

    (void)request;
    if (!bwl_ends_request(&n->in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    if (n->verb == BWL_RELEASE)
        bwl_complete(fx, ev->answer == BWL_YES ? BWL_RELEASED : BWL_LOST);
    else if (ev->answer == BWL_YES)
        bwl_complete_held(fx, n->until, NO_FENCE);
    else
        bwl_complete(fx, BWL_BUSY);
}

const bwl_protocol bwl_set_nx_ex = {
    .name = "set-nx-ex",
    .fault =
        "its release is a blind DEL: a holder that exceeds its lease deletes the next holder's "
        "lock",
    .state_size = sizeof(nx_ex_state),
    .uses_token = true, /* not in the value: it identifies the attempt */
    .init       = nx_ex_init,
    .command    = nx_ex_command,
    .event      = nx_ex_event,
};
