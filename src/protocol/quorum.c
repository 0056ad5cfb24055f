/*
 * quorum.c -- a lock that is one key on a majority of independent Redis servers ("Distributed
 * Locks with Redis", redis.io).  Each command goes to all servers at once: a round.
 *
 *      acquire   SET key token NX PX lease
 *                YES from a majority             -> held
 *                a majority is impossible        -> delete it on all servers, and retry later
 *      extend    if GET key = token then PEXPIRE key lease
 *                YES from a majority             -> the lease is extended.  A server with the reply
 *                                                   NO has lost the key: SET key token NX PX lease
 *                                                   sets it again (healing)
 *                NO from a majority              -> lost: delete it on all servers
 *      release   if GET key = token then DEL key
 *                a majority has deleted it       -> released
 *
 * A majority is more than half of the configured servers, also of those that do not reply.  The
 * lock is held for the lease, counted from before the first command of the round was sent, less the
 * drift allowance.
 *
 * An acquire that remains undecided, because too many servers did not reply, is sent again with the
 * same token.  While it may be sent once more, no delete of that token is sent.
 *
 * A delete whose connection is lost is sent again by the engine, once; its reply has no round.
 *
 * A decided round does not wait for the servers that have not replied.  Deletes also go to servers
 * that replied NO or not at all: the command may have been carried out all the same.  A server that
 * was healed counts from the next round on, and not in this one: another client may have had a
 * majority with it in between.
 *
 * When several clients acquire at once, each may get some servers and none a majority (a split
 * vote).  A client then stops waiting for a server that is slower than the majority.  The time that
 * it waits (the patience) doubles with each attempt.  The pauses between attempts are random, so
 * that the clients do not retry at the same time.
 *
 * What it does not promise: this is a lease, without a fence.  A server that forgets a key, or
 * whose clock jumps, may vote for a second client: see docs/explanation/redlock.md.
 *
 *      IDLE --command--> ASKED --decided, or patience is over--> IDLE
 *                                                 (a release may interrupt ASKED)
 */
#include "protocol/quorum.h"
#include "protocol/format/compat_rules.h"
#include "protocol/store/redis.h"

enum {
    NO_FENCE        = 0,
    PATIENCE_MIN_MS = 10,
    DOUBLINGS_MAX   = 6, /* of the patience */
};

/* ---- counting -------------------------------------------------------------------------------- */

static unsigned quorum(const bwl_redlock_state *r)
{
    return r->nodes / 2u + 1;
}

/* The number of servers without which there is no majority. */
static unsigned too_many(const bwl_redlock_state *r)
{
    return r->nodes - quorum(r) + 1;
}

/* The servers with this vote; 0: without a reply in this round. */
static unsigned count(const bwl_redlock_state *r, unsigned vote)
{
    unsigned number = 0;

    for (unsigned i = 0; i < r->nodes; i++)
        if (r->votes[i] == vote)
            number++;
    return number;
}

/* Servers that certainly did not carry the command out. */
static unsigned unavailable(const bwl_redlock_state *r)
{
    return count(r, BWL_RETRYABLE) + count(r, BWL_REFUSED) + count(r, BWL_NOT_SENT);
}

static bwl_outcome_kind why_unavailable(const bwl_redlock_state *r)
{
    if (count(r, BWL_REFUSED) >= too_many(r))
        return BWL_STORE_REFUSED; /* a new attempt would be refused too */
    return count(r, BWL_NOT_SENT) > 0 ? BWL_UNREACHABLE : BWL_NOT_NOW;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* All commands of a round have one tag; only the first reply of each server counts. */
static void send_all(const bwl_redlock_state *r, bwl_redis_command command, bwl_effects *fx)
{
    for (unsigned i = 0; i < r->nodes; i++)
        bwl_send_command(fx, i, command, r->round);
}

static void redlock_init(void *state, unsigned nodes)
{
    assert(nodes >= 1);
    assert(nodes <= BWL_NODES_MAX);
    *(bwl_redlock_state *)state = (bwl_redlock_state){ .nodes = (uint8_t)nodes };
}

static void redlock_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                            bwl_effects *fx)
{
    bwl_redlock_state *r = state;

    assert(r->round == 0 || r->is_decided || cmd->verb == BWL_RELEASE);
    assert(!cmd->again || r->verb == BWL_ACQUIRE);

    r->verb       = (uint8_t)cmd->verb;
    r->started_at = cmd->now;
    r->is_decided = false;
    r->is_patient = false;
    r->is_again   = cmd->again;
    r->round++;
    for (unsigned i = 0; i < BWL_NODES_MAX; i++)
        r->votes[i] = 0;
    if (!cmd->again)
        r->until = cmd->now + request->lease_ms -
                   bwl_drift_named_ms(request->lease_ms, request->options->drift_ppm);
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        for (unsigned i = 0; i < r->nodes; i++)
            r->deleted[i] = false;
        send_all(r, cmd->again ? REDIS_SET_IF_ABSENT_OR_MINE : REDIS_SET_IF_ABSENT, fx);
        break;
    case BWL_EXTEND: send_all(r, REDIS_EXTEND_IF_MINE, fx); break;
    case BWL_RELEASE: send_all(r, REDIS_DELETE_IF_MINE, fx); break;
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void decide(bwl_redlock_state *r, bwl_outcome_kind kind, bwl_effects *fx)
{
    assert(!r->is_decided);
    r->is_decided = true;
    bwl_complete(fx, kind);
}

static void decide_held(bwl_redlock_state *r, bwl_effects *fx)
{
    r->is_decided = true;
    bwl_complete_held(fx, r->until, NO_FENCE);
}

/* Certainly not held: deletes the key on all servers. */
static void decide_against(bwl_redlock_state *r, bwl_outcome_kind kind, bwl_effects *fx)
{
    decide(r, kind, fx);
    send_all(r, REDIS_DELETE_IF_MINE, fx);
}

/* An acquire that was sent again may be sent once more with this token.  A delete that is carried
 * out late would remove the key that the next round sets.  So no delete is sent then. */
static void decide_unavailable(bwl_redlock_state *r, bwl_effects *fx)
{
    if (r->is_again)
        decide(r, why_unavailable(r), fx);
    else
        decide_against(r, why_unavailable(r), fx);
}

/* Undecided, with replies from a majority, and one of them NO: a split vote.  The remaining servers
 * get about as much time again. */
static void be_patient(bwl_redlock_state *r, const bwl_lock_request *request, bwl_ms now,
                       bwl_effects *fx)
{
    unsigned doublings   = request->attempt < DOUBLINGS_MAX ? request->attempt : DOUBLINGS_MAX;
    bwl_ms   patience_ms = now - r->started_at;

    if (r->is_patient || count(r, BWL_NO) == 0 || r->nodes - count(r, 0) < quorum(r))
        return;
    if (patience_ms < PATIENCE_MIN_MS)
        patience_ms = PATIENCE_MIN_MS;
    r->is_patient = true;
    bwl_wake_at(fx, bwl_ms_add(now, patience_ms << (doublings > 0 ? doublings - 1 : 0)));
}

static void count_acquire(bwl_redlock_state *r, const bwl_lock_request *request, bwl_ms now,
                          bwl_effects *fx)
{
    unsigned never = count(r, BWL_NO) + unavailable(r);

    if (count(r, BWL_YES) >= quorum(r))
        decide_held(r, fx);
    else if (unavailable(r) >= too_many(r))
        decide_unavailable(r, fx);
    else if (never >= too_many(r))
        decide_against(r, BWL_BUSY, fx);
    else if (never + count(r, BWL_VOTE_UNKNOWN) >= too_many(r))
        decide(r, BWL_UNKNOWN, fx); /* the lock machine sends it again, or releases it */
    else
        be_patient(r, request, now, fx);
}

static void heal(const bwl_redlock_state *r, unsigned node, bwl_effects *fx)
{
    bwl_send_command(fx, node, REDIS_SET_IF_ABSENT, r->round);
}

static void count_extend(bwl_redlock_state *r, bwl_effects *fx)
{
    unsigned no    = count(r, BWL_NO);
    unsigned never = no + unavailable(r) + count(r, BWL_VOTE_UNKNOWN);

    if (count(r, BWL_YES) >= quorum(r)) {
        decide_held(r, fx);
        for (unsigned i = 0; i < r->nodes; i++)
            if (r->votes[i] == BWL_NO)
                heal(r, i, fx);
    } else if (no >= too_many(r)) {
        decide_against(r, BWL_LOST, fx);
    } else if (never >= too_many(r)) {
        decide(r, count(r, BWL_VOTE_UNKNOWN) > 0 ? BWL_UNKNOWN : why_unavailable(r), fx);
    }
}

/* `deleted` covers all rounds of this token: a release without a reply may have been carried out,
 * and the next one then gets NO. */
static void count_release(bwl_redlock_state *r, bwl_effects *fx)
{
    unsigned gone    = 0;
    unsigned no      = 0;
    unsigned open    = 0;
    bool     unknown = false;

    for (unsigned i = 0; i < r->nodes; i++) {
        if (r->deleted[i])
            gone++;
        else if (r->votes[i] == BWL_NO)
            no++;
        else if (r->votes[i] == BWL_VOTE_UNKNOWN)
            unknown = true;
        else if (r->votes[i] == 0)
            open++;
    }
    if (gone >= quorum(r))
        decide(r, BWL_RELEASED, fx);
    else if (no >= too_many(r))
        decide(r, BWL_LOST, fx);
    else if (gone + open < quorum(r) && no + open < too_many(r))
        decide(r, unknown ? BWL_UNKNOWN : why_unavailable(r), fx);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Of the present token.  The key is gone, and a delete of a later round gets NO. */
static void deleted_again(bwl_redlock_state *r, const bwl_event *ev, bwl_effects *fx)
{
    if (r->verb != BWL_RELEASE || ev->kind != BWL_REPLY || ev->answer != BWL_YES ||
        ev->node >= r->nodes)
        return;
    r->deleted[ev->node] = true;
    if (!r->is_decided)
        count_release(r, fx);
}

static void voted(bwl_redlock_state *r, const bwl_lock_request *request, const bwl_event *ev,
                  bwl_effects *fx)
{
    unsigned node = ev->node;

    if (ev->tag != r->round || node >= r->nodes || r->votes[node] != 0)
        return; /* of another round, or the reply to a delete or a healing of this one */
    assert(ev->kind == BWL_DOWN || ev->answer != BWL_FOREIGN_VALUE); /* no value is returned */
    r->votes[node] = (uint8_t)(ev->kind == BWL_DOWN ? BWL_VOTE_UNKNOWN : (unsigned)ev->answer);
    if (r->verb == BWL_RELEASE && r->votes[node] == BWL_YES)
        r->deleted[node] = true;
    if (!r->is_decided && r->verb == BWL_ACQUIRE)
        count_acquire(r, request, ev->now, fx);
    else if (!r->is_decided && r->verb == BWL_EXTEND)
        count_extend(r, fx);
    else if (!r->is_decided)
        count_release(r, fx);
    else if (r->verb == BWL_EXTEND && r->votes[node] == BWL_NO && count(r, BWL_YES) >= quorum(r))
        heal(r, node, fx);
}

static void redlock_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                          bwl_effects *fx)
{
    bwl_redlock_state *r = state;

    switch (ev->kind) {
    case BWL_REPLY:
    case BWL_DOWN:
        if (ev->tag == BWL_REDLOCK_REPEATED)
            deleted_again(r, ev, fx);
        else if (r->round != 0)
            voted(r, request, ev, fx);
        break;
    case BWL_ALARM:
        if (r->is_patient && !r->is_decided)
            decide_against(r, BWL_BUSY, fx);
        break;
    case BWL_PUSH: break; /* this protocol gets none */
    }
}

const bwl_protocol bwl_redlock = {
    .name             = "redlock",
    .state_size       = sizeof(bwl_redlock_state),
    .uses_token       = true,
    .extends          = true,
    .can_verify_owner = true,
    .init             = redlock_init,
    .command          = redlock_command,
    .event            = redlock_event,
};
