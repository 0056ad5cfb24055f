/*
 * queue.c -- a lock on one Redis server, which keeps a queue of the waiters.
 *
 *      acquire   JOIN: the server grants the lock, or adds an entry to the queue.  Then the
 *                client waits for a push, and sends a HEARTBEAT from time to time: it shows that
 *                the client still waits, and its reply says whether the lock was granted.  An
 *                acquire that does not wait sends TAKE instead.
 *      extend    EXTEND
 *      release   RELEASE: the server grants the lock to the next waiter, and sends it a push.  In
 *                the queue: CANCEL.  After too many dead waiters: DISPATCH_NEXT.
 *                With a rest: REST.  The lock stays taken until the rest is over.
 *      yield     REQUEUE: the server grants the lock to the next waiter, and adds an entry with a
 *                new token at the end of the queue.  Without a waiter, it grants the lock to that
 *                token.
 *
 *      adopt     ADOPT: takes over a lock that another client has given up to this one
 *      extend, and downgrade or upgrade
 *                SHARE_DOWNGRADE, SHARE_UPGRADE.  An upgrade uses the other token of the hold.  A
 *                release after one without a reply is SHARE_LEAVE, and, if that finds nothing,
 *                SHARE_LEAVE of the other token.  The order matters: an upgrade that comes late
 *                needs a share of one of them
 *      share     the same with the commands SHARE_..., for a lock that others may share:
 *                SHARE_LEAVE is RELEASE and CANCEL.  It never yields in one step, rests or adopts
 *
 * A push brings a provisional grant: a short lease, because the server does not know whether the
 * waiter is still there.  EXTEND confirms it, and makes it a full lease.  If enough of the
 * provisional grant is left, the outcome HELD comes before the reply to EXTEND: the server grants
 * the lock to no other client before the provisional grant ends.
 *
 * The provisional grant counts from when the server made it, and a push may be delayed by any
 * time.  So the push has that time by the server's clock, and so has every reply to a waiter.  The
 * difference of the two, added to the time when that reply's command was sent, is a time before the
 * grant (bwl_queue_granted_after).  If HEARTBEAT finds the grant (the push was lost, or is late),
 * there is no such time, and no outcome is reported before the reply to EXTEND.  Nor with a rest:
 * a provisional grant would end sooner than the rest if the client died.
 *
 * A provisional grant that came too late, and an entry that is gone from the queue, end this
 * attempt.  The next attempt has a new token, and keeps the ticket, which is the position in the
 * queue.  After a grant that came too late, it requests a provisional grant of twice the length.
 *
 * JOIN and TAKE are sent once for each token.  Without a reply, HEARTBEAT finds out whether they
 * were carried out: it never adds an entry, so its GONE is certain.
 *
 * After a REQUEUE without a reply, the server may have the lock with the previous token, which no
 * hold uses any more.  So that token is released before any other command is sent.  If REQUEUE is
 * carried out after that, the lock does not have that token, and REQUEUE does nothing.
 *
 * What it does not promise: a server that forgets (restart without persistence, failover,
 * eviction) can let a second holder in; the fencing token shows which one is stale.
 *
 *      IDLE --acquire--> ASKED ------queued------> QUEUED <---> HEARTBEAT in flight
 *        ^                 |  `--granted--.          |  push, granted, mine
 *        |                yes             v          v
 *        |                 |     PROVISIONAL (not held yet) or CONFIRMING (held until its end)
 *        |                 |                 |             |
 *        |                 v       yes       |             |
 *        |                HELD <-------------+-------------+
 *        |                 ^ `--extend--> EXTENDING
 *        |                 `---------------'
 *      LEAVING, DISPATCHING <--release-- any
 *      HELD, CONFIRMING, EXTENDING --yield--> YIELDING, which ends like ASKED
 *      IDLE --adopt--> ADOPTING --yes--> HELD; no: IDLE with LOST; no reply: IDLE
 *
 *      no        QUEUED (the entry is gone), PROVISIONAL --> IDLE with RETRY_WITH_NEW_TOKEN
 *                CONFIRMING, EXTENDING, YIELDING     --> IDLE with LOST
 *      no reply  ASKED, PROVISIONAL --> IDLE --acquire again--> RESOLVING, which ends like ASKED
 *                QUEUED, CONFIRMING: sent again        EXTENDING --> HELD
 *                YIELDING --> IDLE, and FREEING before the next command
 */
#include "core/one_request.h"
#include "protocol/queue_lock.h"
#include "protocol/format/compat_rules.h"
#include "protocol/state.h"
#include "protocol/store/redis.h"

enum {
    SERVER     = 0,
    NO_REQUEST = 0,
    PROVISIONAL_TTL_MIN_MS =
        2000,      /* time for a push, an EXTEND, and a process that is slow to wake */
    ENOUGH_OF = 4, /* HELD is reported before the confirmation if this part of the grant is left */
    RECONFIRM_MS   = 50, /* pause after a confirmation that could not be sent */
    NOT_KNOWN      = 0,  /* the end of a grant: no outcome before the confirmation */
    FOREIGN_MIN_MS = 50,
    FOREIGN_MAX_MS = 250,
    EXPIRED_MS     = 2,
    US_PER_MS      = 1000,
};

typedef enum phase {
    IDLE = BWL_QUEUE_IDLE,
    ASKED,     /* JOIN or TAKE is in flight */
    RESOLVING, /* HEARTBEAT is in flight, after one of these without a reply */
    QUEUED =
        BWL_QUEUE_QUEUED, /* probably in the queue; HEARTBEAT is in flight, or its alarm is set */
    PROVISIONAL,          /* EXTEND is in flight, no outcome yet */
    CONFIRMING,           /* HELD was reported; EXTEND is in flight, or its alarm is set */
    HELD,
    EXTENDING,
    LEAVING, /* RELEASE or CANCEL is in flight */
    DISPATCHING,
    YIELDING, /* REQUEUE is in flight */
    FREEING,  /* RELEASE of the previous token is in flight, before another command */
    ADOPTING,
} phase;

typedef bwl_queue_state queue_state;

static void queue_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(queue_state *)state = (queue_state){ .phase = IDLE };
}

/* ---- times ----------------------------------------------------------------------------------- */

/* A random time, from min_ms to max_ms. */
static bwl_ms between(bwl_ms min_ms, bwl_ms max_ms, const bwl_random *fresh)
{
    unsigned random = (unsigned)fresh->bytes[0] << 8 | fresh->bytes[1];

    assert(min_ms <= max_ms);
    return min_ms + (bwl_ms)random % (max_ms - min_ms + 1);
}

/* Only the first waiter sends its heartbeat close to the end of the lock.  The others get the lock
 * by a push.  Their heartbeats show the server that they still wait, and find a grant whose push
 * was lost. */
bwl_ms bwl_queue_heartbeat_ms(const bwl_queue_status *queue_status, const bwl_random *fresh)
{
    if (queue_status->rank > 0) /* the longest is two thirds of what the server tolerates */
        return between(BWL_QUEUE_HEARTBEAT_MS, 2 * BWL_QUEUE_HEARTBEAT_MS, fresh);
    if (!queue_status->is_ours || !queue_status->ends) /* no push follows its deletion */
        return between(FOREIGN_MIN_MS, FOREIGN_MAX_MS, fresh);
    if (queue_status->left_ms <= 0)
        return EXPIRED_MS;
    return bwl_ms_min(BWL_QUEUE_HEARTBEAT_MS, bwl_ms_add(queue_status->left_ms, EXPIRED_MS));
}

bwl_ms bwl_queue_slack_ms(const bwl_queue_status *queue_status)
{
    bool ends_later = queue_status->is_ours && queue_status->ends &&
                      queue_status->left_ms > BWL_QUEUE_HEARTBEAT_MS + BWL_QUEUE_SLACK_MS;

    return queue_status->rank > 0 || ends_later ? BWL_QUEUE_SLACK_MS : 0;
}

bwl_ms bwl_queue_retry_ms(const bwl_random *fresh)
{
    return between(BWL_QUEUE_HEARTBEAT_MS / 2, BWL_QUEUE_HEARTBEAT_MS, fresh);
}

/* The difference of two times of the server is a duration, even if the server's clock is wrong.
 * The drift allowance makes it shorter.  If the clock was set back in between, the difference is
 * negative.  If it was set forward by more than the delay of the push, the sum is in the future,
 * which is impossible for a grant.  In both cases only one thing is certain: the grant happened
 * after the heartbeat was sent.  So the lease counts from there: too early, never too late. */
bwl_ms bwl_queue_granted_after(bwl_clock_sample seen, int64_t given_us, bwl_ms now, bwl_ms slack_ms)
{
    bwl_ms passed_ms;

    assert(slack_ms >= 0);
    if (seen.server_us <= 0 || given_us <= seen.server_us)
        return seen.at;
    passed_ms = (given_us - seen.server_us) / US_PER_MS;
    passed_ms -= bwl_ms_min(passed_ms, bwl_drift_ms(passed_ms));
    if (passed_ms > now - seen.at + slack_ms)
        return seen.at;
    return bwl_ms_min(seen.at + passed_ms, now);
}

/* ---- sending, completing --------------------------------------------------------------------- */

static void send_one(queue_state *q, bwl_send send, bwl_ms now, bwl_effects *fx)
{
    q->sent_at       = now;
    q->in_flight.tag = ++q->in_flight.last_tag;
    send.tag         = q->in_flight.tag;
    send.node        = SERVER;
    bwl_add_send(fx, send);
    bwl_wake_at(fx, BWL_NEVER);
}

static void send_other_release(queue_state *q, bwl_redis_command command, bwl_ms now,
                               bwl_effects *fx)
{
    send_one(q, (bwl_send){ .command = (uint8_t)command, .args = { [REDIS_ARG_OTHER_TOKEN] = 1 } },
             now, fx);
}

static void release_previous_token(queue_state *q, phase next, bwl_redis_command command,
                                   bwl_ms now, bwl_effects *fx)
{
    q->phase        = FREEING;
    q->next         = next;
    q->next_command = command;
    send_other_release(q, REDIS_QUEUE_RELEASE, now, fx);
}

/* The same for a lock that others may share. */
static bwl_redis_command sharing(bwl_redis_command command)
{
    switch (command) {
    case REDIS_QUEUE_TAKE: return REDIS_SHARE_TAKE;
    case REDIS_QUEUE_JOIN: return REDIS_SHARE_JOIN;
    case REDIS_QUEUE_HEARTBEAT: return REDIS_SHARE_HEARTBEAT;
    case REDIS_QUEUE_EXTEND: return REDIS_SHARE_EXTEND;
    case REDIS_QUEUE_RELEASE:
    case REDIS_QUEUE_CANCEL: return REDIS_SHARE_LEAVE;
    default: assert(command == REDIS_QUEUE_DISPATCH_NEXT); return command;
    }
}

static void send_command(queue_state *q, phase next, bwl_redis_command command, bwl_ms now,
                         bwl_effects *fx)
{
    bool    beats      = command == REDIS_QUEUE_HEARTBEAT;
    int64_t fence      = q->shares && command == REDIS_QUEUE_EXTEND ? (int64_t)q->fence : 0;
    bool    has_ticket = command == REDIS_QUEUE_JOIN || (beats && q->seen.server_us != 0);
    bool    has_ttl    = command == REDIS_QUEUE_JOIN || beats || command == REDIS_QUEUE_REQUEUE;
    bool    confirms   = command == REDIS_QUEUE_EXTEND && next == PROVISIONAL;

    if (q->previous_may_own && command != REDIS_QUEUE_REQUEUE) {
        release_previous_token(q, next, command, now, fx);
        return;
    }
    q->phase = next;
    send_one(q,
             (bwl_send){
                 .command = (uint8_t)(q->shares ? sharing(command) : command),
                 .args    = { [REDIS_ARG_TICKET] = has_ticket ? (int64_t)q->ticket : fence,
                              [REDIS_ARG_TTL_MS] = has_ttl ? q->provisional_ttl_ms : confirms },
             },
             now, fx);
}

static void ended(queue_state *q, bwl_outcome_kind kind, bwl_effects *fx)
{
    q->phase = IDLE;
    bwl_complete(fx, kind);
}

/* The end of a lease or a provisional grant that began at `at` or later, less the drift
 * allowance. */
static bwl_ms lease_end(bwl_ms at, bwl_ms lease_ms)
{
    return bwl_ms_add(at, lease_ms) - bwl_drift_ms(lease_ms);
}

static void held(queue_state *q, bwl_effects *fx)
{
    q->phase    = HELD;
    q->was_held = true;
    bwl_complete_held(fx, lease_end(q->sent_at, q->lease_ms), q->fence);
}

static bool was_carried_out(const bwl_event *ev)
{
    return ev->kind == BWL_REPLY && (ev->answer == BWL_YES || ev->answer == BWL_NO);
}

static void learn_fence(queue_state *q, uint64_t fence)
{
    if (fence > q->fence)
        q->fence = fence;
}

/* ---- in the queue ---------------------------------------------------------------------------- */

static void queued(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_queue_status *status = ev->details;

    if (q->once && status->rests) { /* the lock machine cancels the entry */
        ended(q, BWL_DONE, fx);
        return;
    }
    if (q->phase != QUEUED)
        bwl_complete(fx, BWL_QUEUED);
    q->phase = QUEUED;
    q->seen  = (bwl_clock_sample){ .at = q->sent_at, .server_us = status->server_us };
    bwl_wake_about(fx, bwl_ms_add(ev->now, bwl_queue_heartbeat_ms(status, &ev->fresh)),
                   bwl_queue_slack_ms(status));
}

/* The server has granted the lock; it is held until `until` if enough of the grant is left. */
static void granted(queue_state *q, bwl_ms until, uint64_t fence, bwl_ms now, bwl_effects *fx)
{
    bool is_enough =
        !q->confirms_first && until > now && until - now >= q->provisional_ttl_ms / ENOUGH_OF;
    bool is_reported = q->phase == QUEUED; /* the outcome QUEUED */

    learn_fence(q, fence);
    q->seen = (bwl_clock_sample){ 0 };
    if (is_enough)
        bwl_complete_held(fx, until, q->fence);
    else if (!is_reported && q->may_wait)
        bwl_complete(fx, BWL_QUEUED);
    q->was_held = is_enough;
    send_command(q, is_enough ? CONFIRMING : PROVISIONAL, REDIS_QUEUE_EXTEND, now, fx);
}

static void pushed(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_queue_status *status = ev->details;
    bwl_ms                  after;

    assert(status != NULL);
    if (q->phase != QUEUED)
        return; /* of an entry that was cancelled */
    after = bwl_queue_granted_after(q->seen, status->server_us, ev->now,
                                    bwl_drift_ms(q->provisional_ttl_ms));
    granted(q, lease_end(after, q->provisional_ttl_ms), ev->number, ev->now, fx);
}

/* The reply to JOIN, TAKE, HEARTBEAT or REQUEUE. */
static void got_status(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_queue_status *status = ev->details;

    assert(status != NULL);
    if (status->ticket != 0)
        q->ticket = status->ticket;
    switch (status->kind) {
    case BWL_QUEUE_STATUS_HELD:
        learn_fence(q, ev->number);
        held(q, fx);
        return;
    case BWL_QUEUE_STATUS_BUSY:
        ended(q, q->once && status->rests ? BWL_DONE : BWL_BUSY, fx);
        return;
    case BWL_QUEUE_STATUS_FULL: ended(q, BWL_FULL, fx); return;
    case BWL_QUEUE_STATUS_QUEUED: queued(q, ev, fx); return;
    case BWL_QUEUE_STATUS_PROVISIONAL:
        granted(q, lease_end(q->sent_at, q->provisional_ttl_ms), ev->number, ev->now, fx);
        return;
    case BWL_QUEUE_STATUS_MINE: granted(q, NOT_KNOWN, ev->number, ev->now, fx); return;
    case BWL_QUEUE_STATUS_GONE:
        ended(q, q->phase == YIELDING ? BWL_LOST : BWL_RETRY_WITH_NEW_TOKEN, fx);
        return;
    case BWL_QUEUE_STATUS_MORE: break;
    }
    bwl_unreachable("not a reply to a command of a waiter");
}

/* The connection has ended.  The sample of the server's clock is void: the address may belong to
 * another server now. */
static void disconnected(queue_state *q, bwl_ms now, bwl_effects *fx)
{
    q->seen.server_us = 0;
    send_command(q, QUEUED, REDIS_QUEUE_HEARTBEAT, now, fx);
}

static void heartbeat_ended(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (was_carried_out(ev))
        got_status(q, ev, fx);
    else if (ev->kind == BWL_DOWN)
        disconnected(q, ev->now, fx);
    else /* the entry stays in the queue */
        bwl_wake_at(fx, bwl_ms_add(ev->now, bwl_queue_retry_ms(&ev->fresh)));
}

static void acquire_ended(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (bwl_was_answered(ev, fx))
        got_status(q, ev, fx);
    else
        q->phase = IDLE;
}

/* ---- a provisional grant --------------------------------------------------------------------- */

/* HELD was not reported for this grant.  Without a reply the server may have made it a full
 * lease. */
static void provisional_ended(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->kind == BWL_DOWN || ev->answer == BWL_RETRYABLE || ev->answer == BWL_NOT_SENT) {
        ended(q, BWL_UNKNOWN, fx);
    } else if (ev->answer == BWL_REFUSED) {
        ended(q, BWL_STORE_REFUSED, fx);
    } else if (ev->answer == BWL_YES) {
        held(q, fx);
    } else { /* too late: the provisional grant has ended */
        q->provisional_ttl_ms = bwl_ms_add(q->provisional_ttl_ms, q->provisional_ttl_ms);
        ended(q, BWL_RETRY_WITH_NEW_TOKEN, fx);
    }
}

static void lost(queue_state *q, bwl_effects *fx)
{
    q->in_flight.tag = NO_REQUEST;
    q->unconfirmed   = NO_REQUEST;
    ended(q, BWL_LOST, fx);
}

/* The lock is held until the provisional grant ends; the lock machine watches that end. */
static void confirmed(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->kind == BWL_DOWN)
        send_command(q, CONFIRMING, REDIS_QUEUE_EXTEND, ev->now, fx);
    else if (ev->answer == BWL_YES)
        held(q, fx);
    else if (ev->answer == BWL_NO)
        lost(q, fx);
    else
        bwl_wake_at(fx, bwl_ms_add(ev->now, RECONFIRM_MS));
}

/* True for a NO to a confirmation that an extension replaced.  It is final: a token that lost the
 * lock never gets it again. */
static bool is_late_no(const queue_state *q, const bwl_event *ev)
{
    return q->unconfirmed != NO_REQUEST && ev->tag == q->unconfirmed && ev->kind == BWL_REPLY &&
           ev->answer == BWL_NO;
}

/* Also after a change.  NO is final for both tokens, but for BUSY, which is an extension. */
static void extended(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_queue_status *status = ev->details;

    q->phase = HELD;
    if (!bwl_was_answered(ev, fx))
        return;
    if (ev->answer == BWL_YES) {
        learn_fence(q, ev->number);
        held(q, fx);
    } else if (status != NULL && status->kind == BWL_QUEUE_STATUS_BUSY) {
        bwl_complete(fx, BWL_BUSY);
        fx->outcome.until = lease_end(q->sent_at, q->lease_ms);
    } else {
        lost(q, fx);
    }
}

/* ---- release --------------------------------------------------------------------------------- */

static bool is_more(const bwl_event *ev)
{
    const bwl_queue_status *status = ev->details;

    return ev->kind == BWL_REPLY && ev->answer == BWL_YES && status != NULL &&
           status->kind == BWL_QUEUE_STATUS_MORE;
}

static void released(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (!bwl_was_answered(ev, fx)) {
        q->phase = IDLE;
    } else if (ev->answer == BWL_NO && q->other_may_own) {
        q->other_may_own = false;
        send_other_release(q, REDIS_SHARE_LEAVE, ev->now, fx);
    } else if (ev->answer == BWL_NO)
        ended(q, BWL_LOST, fx);
    else if (is_more(ev))
        send_command(q, DISPATCHING, REDIS_QUEUE_DISPATCH_NEXT, ev->now, fx);
    else
        ended(q, BWL_RELEASED, fx);
}

/* The lock is released.  A waiter that DISPATCH_NEXT does not reach gets the lock at its next
 * HEARTBEAT. */
static void dispatched(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (is_more(ev))
        send_command(q, DISPATCHING, REDIS_QUEUE_DISPATCH_NEXT, ev->now, fx);
    else
        ended(q, BWL_RELEASED, fx);
}

/* ---- yield ----------------------------------------------------------------------------------- */

static void yielded(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (was_carried_out(ev)) {
        q->previous_may_own = false;
        got_status(q, ev, fx);
    } else { /* the server may have the lock with the previous token */
        ended(q, BWL_UNKNOWN, fx);
    }
}

static void request_ended(queue_state *q, const bwl_event *ev, bwl_effects *fx);

/* NO is as good as YES: the previous token does not own the lock, and never will.  MORE needs no
 * DISPATCH_NEXT here: the heartbeat of the next waiter serves the queue.  Without a reply, the
 * command that should follow ends in the same way, without being sent. */
static void previous_released(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (was_carried_out(ev)) {
        q->previous_may_own = false;
        send_command(q, q->next, q->next_command, ev->now, fx);
    } else {
        q->phase = q->next;
        request_ended(q, ev, fx);
    }
}

/* ---- a lock of another client ---------------------------------------------------------------- */

static void adopt(queue_state *q, bwl_ms now, bwl_effects *fx)
{
    q->was_held = false;
    q->fence    = 0;
    send_command(q, ADOPTING, REDIS_ADOPT, now, fx);
}

/* NO is certain, also after an ADOPT without a reply: this token does not own the lock. */
static void adopted(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (!bwl_was_answered(ev, fx)) {
        q->phase = IDLE;
    } else if (ev->answer == BWL_NO) {
        ended(q, BWL_LOST, fx);
    } else {
        learn_fence(q, ev->number);
        held(q, fx);
    }
}

/* ---- commands and events --------------------------------------------------------------------- */

static void yield(queue_state *q, bwl_ms now, bwl_effects *fx)
{
    assert(q->phase == HELD || q->phase == CONFIRMING || q->phase == EXTENDING);
    q->unconfirmed      = NO_REQUEST;
    q->ticket           = 0;
    q->previous_may_own = true;
    send_command(q, YIELDING, REDIS_QUEUE_REQUEUE, now, fx);
}

/* The first attempt after a yield has no place in the queue, as that of an acquire. */
static void acquire(queue_state *q, const bwl_command *cmd, bool is_first, bwl_effects *fx)
{
    bwl_ms ttl_ms = q->provisional_ttl_ms > PROVISIONAL_TTL_MIN_MS ? q->provisional_ttl_ms
                                                                   : PROVISIONAL_TTL_MIN_MS;

    q->seen = (bwl_clock_sample){ 0 };
    if (cmd->adopts) {
        adopt(q, cmd->now, fx);
        return;
    }
    if (cmd->again) {
        send_command(q, RESOLVING, REDIS_QUEUE_HEARTBEAT, cmd->now, fx);
        return;
    }
    q->may_wait           = cmd->may_wait;
    q->ticket             = is_first ? 0 : q->ticket;
    q->was_held           = false;
    q->fence              = 0;
    q->provisional_ttl_ms = bwl_ms_min(ttl_ms, q->lease_ms);
    if (cmd->yields)
        yield(q, cmd->now, fx);
    else
        send_command(q, ASKED, cmd->may_wait ? REDIS_QUEUE_JOIN : REDIS_QUEUE_TAKE, cmd->now, fx);
}

/* Replaces an extension or a confirmation in flight, whose reply does not matter any more. */
static void send_change(queue_state *q, const bwl_command *cmd, bwl_effects *fx)
{
    assert(!q->previous_may_own && q->shares);
    q->phase       = EXTENDING;
    q->unconfirmed = NO_REQUEST;
    send_one(q,
             (bwl_send){ .command = cmd->downgrades ? REDIS_SHARE_DOWNGRADE : REDIS_SHARE_UPGRADE },
             cmd->now, fx);
}

/* A hold with a rest is never yielded: there is no previous token. */
static void send_rest(queue_state *q, const bwl_command *cmd, bwl_effects *fx)
{
    assert(q->was_held && !q->previous_may_own);
    q->phase = LEAVING;
    send_one(
        q,
        (bwl_send){ .command = REDIS_QUEUE_REST, .args = { [REDIS_ARG_REST_MS] = cmd->rest_ms } },
        cmd->now, fx);
}

static void queue_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    queue_state *q = state;

    q->lease_ms       = request->lease_ms;
    q->confirms_first = request->options->replicas > 0 || request->rest_ms > 0;
    q->once           = request->once;
    q->shares         = request->share.weight > 0;
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        assert(q->phase == IDLE || cmd->yields);
        acquire(q, cmd, request->attempt == 1, fx);
        break;
    case BWL_EXTEND: /* replaces a confirmation in flight, or an extension: see bwl_hold_move */
        if (cmd->downgrades || cmd->upgrades) {
            send_change(q, cmd, fx);
            break;
        }
        assert(q->phase == HELD || q->phase == CONFIRMING || q->phase == EXTENDING);
        if (q->in_flight.tag != NO_REQUEST)
            q->unconfirmed = q->in_flight.tag;
        send_command(q, EXTENDING, REDIS_QUEUE_EXTEND, cmd->now, fx);
        break;
    case BWL_RELEASE:
        q->seen          = (bwl_clock_sample){ 0 };
        q->unconfirmed   = NO_REQUEST;
        q->other_may_own = cmd->releases_both;
        if (cmd->rests)
            send_rest(q, cmd, fx);
        else
            send_command(q, LEAVING, q->was_held ? REDIS_QUEUE_RELEASE : REDIS_QUEUE_CANCEL,
                         cmd->now, fx);
        break;
    }
}

static void request_ended(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    assert(ev->kind == BWL_DOWN || ev->answer != BWL_FOREIGN_VALUE);
    switch ((phase)q->phase) {
    case ASKED:
    case RESOLVING: acquire_ended(q, ev, fx); return;
    case QUEUED: heartbeat_ended(q, ev, fx); return;
    case PROVISIONAL: provisional_ended(q, ev, fx); return;
    case CONFIRMING: confirmed(q, ev, fx); return;
    case EXTENDING: extended(q, ev, fx); return;
    case LEAVING: released(q, ev, fx); return;
    case DISPATCHING: dispatched(q, ev, fx); return;
    case YIELDING: yielded(q, ev, fx); return;
    case FREEING: previous_released(q, ev, fx); return;
    case ADOPTING: adopted(q, ev, fx); return;
    case IDLE:
    case HELD: break;
    }
    bwl_unreachable("no command is in flight in these phases");
}

static void queue_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    queue_state *q            = state;
    bool         is_in_flight = q->in_flight.tag != NO_REQUEST;

    (void)request; /* its values were read when the command was sent */
    switch (ev->kind) {
    case BWL_REPLY:
    case BWL_DOWN:
        if (bwl_ends_request(&q->in_flight, ev))
            request_ended(q, ev, fx);
        else if (ev->kind == BWL_DOWN && ev->tag == NO_REQUEST && q->phase == QUEUED &&
                 !is_in_flight)
            disconnected(q, ev->now, fx);
        else if (is_late_no(q, ev))
            lost(q, fx);
        break;
    case BWL_ALARM:
        if (q->phase == QUEUED && !is_in_flight)
            send_command(q, QUEUED, REDIS_QUEUE_HEARTBEAT, ev->now, fx);
        else if (q->phase == CONFIRMING && !is_in_flight)
            send_command(q, CONFIRMING, REDIS_QUEUE_EXTEND, ev->now, fx);
        break;
    case BWL_PUSH: pushed(q, ev, fx); break;
    }
}

const bwl_protocol bwl_queue = {
    .name             = "queue",
    .state_size       = sizeof(queue_state),
    .uses_token       = true,
    .extends          = true,
    .can_verify_owner = true,
    .uses_push        = true,
    .yields           = true,
    .rests            = true,
    .shares           = true,
    .changes          = true,
    .init             = queue_init,
    .command          = queue_command,
    .event            = queue_event,
};
