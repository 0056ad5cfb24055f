/*
 * token.c -- a lock that is one key on one Redis server.
 *
 *      acquire   SET key token NX PX lease
 *      extend    if GET key = token then PEXPIRE key lease
 *      release   if GET key = token then DEL key
 *
 * If the client dies, the key stays for at most one lease.  The client counts the lease from
 * before the command is sent, the server from when it is carried out.  So the client's lease ends
 * first; the drift allowance covers a clock that runs slow.
 *
 * An acquire without a reply is sent again with the same token, by a command whose reply is YES
 * also if the first one was carried out.  The lease counts from the first command.
 *
 * What it does not promise: this is a lease, without a fence.  A server that forgets the key
 * (restart without persistence, failover, eviction) can let a second holder in.
 *
 *      IDLE --command--> ASKED --reply, down--> IDLE      (a release may interrupt ASKED)
 */
#include "protocol/token_lock.h"
#include "protocol/state.h"
#include "protocol/store/redis.h"

enum { NO_REQUEST = 0, NO_FENCE = 0 };

typedef bwl_token_state token_state;

static void token_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(token_state *)state = (token_state){ 0 };
}

static void token_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    token_state *t = state;

    assert(t->in_flight.tag == NO_REQUEST || cmd->verb == BWL_RELEASE);
    assert(!cmd->again || t->verb == BWL_ACQUIRE);

    t->verb = cmd->verb;
    if (!cmd->again)
        t->until = cmd->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        bwl_send_one(&t->in_flight, cmd->again ? REDIS_SET_IF_ABSENT_OR_MINE : REDIS_SET_IF_ABSENT,
                     fx);
        break;
    case BWL_EXTEND: bwl_send_one(&t->in_flight, REDIS_EXTEND_IF_MINE, fx); break;
    case BWL_RELEASE: bwl_send_one(&t->in_flight, REDIS_DELETE_IF_MINE, fx); break;
    }
}

static void yes(const token_state *t, bwl_effects *fx)
{
    if (t->verb == BWL_RELEASE)
        bwl_complete(fx, BWL_RELEASED);
    else
        bwl_complete_held(fx, t->until, NO_FENCE);
}

static void token_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    token_state *t = state;

    (void)request; /* its lease is in `until` */
    if (!bwl_ends_request(&t->in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    assert(ev->answer != BWL_FOREIGN_VALUE); /* the server compares the token itself */
    if (ev->answer == BWL_YES)
        yes(t, fx);
    else
        bwl_complete(fx, t->verb == BWL_ACQUIRE ? BWL_BUSY : BWL_LOST);
}

const bwl_protocol bwl_token = {
    .name             = "token",
    .state_size       = sizeof(token_state),
    .uses_token       = true,
    .extends          = true,
    .can_verify_owner = true,
    .init             = token_init,
    .command          = token_command,
    .event            = token_event,
};
