/*
 * queue.c -- a lock on one Redis server, which keeps a queue for those who wait.
 *
 *      acquire   JOIN: it is ours, or we stand in line.  Then we wait to be told, and send
 *                HEARTBEAT from time to time: that we are still there, and is it not ours already?
 *                Who only looks (it would not wait) asks TAKE instead.
 *      extend    EXTEND
 *      release   RELEASE: the server gives it to who waits longest, and tells him by a push.
 *                While we may stand in line: CANCEL.  Too many of those who wait are dead:
 *                DISPATCH_NEXT.
 *      yield     REQUEUE: the server gives it to who waits longest, and we stand behind all who
 *                wait, by a new token.  Nobody waits: it is ours by the new token, at once.
 *
 * What a push gives is a claim: a short lease, for the server cannot know whether we are there.  We
 * confirm it by an EXTEND, which makes it a lease.  If enough of the claim is left, we hold before
 * the answer to that has come: nobody else is given the lock before the claim has ended.
 *
 * The claim counts from when the server gave it, and a push may be under way for any time.  So it
 * says when that was, on the server's clock, and so does every answer to who stands in line; the
 * difference, counted from before that answer's question, is a moment before the claim began
 * (queue_time.c).  Without such a moment (HEARTBEAT finds it ours: the push was lost, or is late)
 * nothing is told before EXTEND is answered.
 *
 * A claim that came too late, and a place that is gone, end this attempt: the next one has a new
 * token, but the ticket of the old one, which is the place in line; and after a claim that came too
 * late, it asks for one twice as long.
 *
 * JOIN and TAKE are asked once for each token.  Without an answer, it is HEARTBEAT that finds out
 * what became of them: it never makes a place, so whoever is told GONE can be sure.
 *
 * As long as it is not known whether REQUEUE was carried out, the lock may be in the name of the
 * token that we held by, which nobody wants any more: so before anything else is asked, that is
 * released.  If REQUEUE comes late then, it finds that the lock is not that token's, and does
 * nothing.
 *
 * What it does not promise: a server that forgets (restart without persistence, failover, eviction)
 * can let a second holder in; whoever checks the fence is not deceived by that.
 *
 *      IDLE --acquire--> ASKED ------queued------> QUEUED <---> HEARTBEAT is out
 *        ^                 |  `--claimed--.          |  push, claimed, mine
 *        |                yes             v          v
 *        |                 |     PROVISIONAL (nothing told) or CONFIRMING (held till its end)
 *        |                 |                 |             |
 *        |                 v       yes       |             |
 *        |                HELD <-------------+-------------+
 *        |                 ^ `--extend--> EXTENDING
 *        |                 `---------------'
 *      LEAVING, DISPATCHING <--release-- any
 *      HELD, CONFIRMING, EXTENDING --yield--> YIELDING, which ends like ASKED
 *
 *      no        QUEUED (the place is gone), PROVISIONAL --> IDLE, telling RETRY_WITH_NEW_TOKEN
 *                CONFIRMING, EXTENDING, YIELDING     --> IDLE, telling LOST
 *      no answer ASKED, PROVISIONAL --> IDLE --acquire again--> RESOLVING, which ends like ASKED
 *                QUEUED, CONFIRMING: asked again       EXTENDING --> HELD
 *                YIELDING --> IDLE, and then FREEING before whatever is asked
 */
#include "core/one_request.h"
#include "protocol/queue_lock.h"
#include "protocol/queue_time.h"
#include "protocol/store/redis.h"

enum {
    SERVER     = 0,
    NO_REQUEST = 0,
    PROVISIONAL_TTL_MIN_MS =
        2000,          /* time for a push, an EXTEND, and a process that is slow to wake */
    ENOUGH_OF    = 4,  /* the part of a claim that is worth telling before it is confirmed    */
    RECONFIRM_MS = 50, /* before a confirmation that could not be put is put again            */
    NOT_KNOWN    = 0,  /* until when: nothing may be told                                   */
};

typedef enum phase {
    IDLE = 1,
    ASKED,       /* JOIN or TAKE is out                                                         */
    RESOLVING,   /* HEARTBEAT is out for one of these that had no answer */
    QUEUED,      /* in line, or so we think; HEARTBEAT is out, or is to come */
    PROVISIONAL, /* EXTEND is out, and nothing was told */
    CONFIRMING,  /* HELD was told; EXTEND is out, or is to come                                 */
    HELD,
    EXTENDING,
    LEAVING, /* RELEASE or CANCEL is out                                                    */
    DISPATCHING,
    YIELDING, /* REQUEUE is out                                                               */
    FREEING,  /* RELEASE of the former token is out, before another question                     */
} phase;

typedef struct queue_state {
    phase phase;
    bool  may_wait;
    bool  was_held;  /* with this token: so it stands in no line any more                  */
    bool  is_synced; /* nothing is told of a claim before it is confirmed                  */
    bwl_one_request asking;
    uint32_t unconfirmed; /* a confirmation that gave way to an extension: its no counts       */
    bwl_ms   sent_at;     /* the question that is out, or was the last                          */
    bwl_ms   lease_ms; /* that the latest command asked for: what a later one asks is later     */
    bwl_ms   provisional_ttl_ms; /* that a push of this token gives */
    uint64_t fence;  /* the highest that we were told with this token                       */
    uint64_t ticket; /* our place in line, kept from one attempt to the next; 0: none yet    */
    bwl_clock_sample seen; /* QUEUED: of the server's clock */
    bool  owes; /* the lock may be in the name of the former token                             */
    phase next; /* FREEING: what comes then, if that was answered                        */
    bwl_redis_command next_command;
} queue_state;

static void queue_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(queue_state *)state = (queue_state){ .phase = IDLE };
}

/* ---- asking, telling ------------------------------------------------------------------------- */

static void put(queue_state *q, bwl_send send, bwl_ms now, bwl_effects *fx)
{
    q->sent_at      = now;
    q->asking.asked = ++q->asking.last_tag;
    send.tag        = q->asking.asked;
    send.node       = SERVER;
    bwl_add_send(fx, send);
    bwl_wake_at(fx, BWL_NEVER);
}

static void release_previous_token(queue_state *q, phase next, bwl_redis_command command,
                                   bwl_ms now, bwl_effects *fx)
{
    q->phase        = FREEING;
    q->next         = next;
    q->next_command = command;
    put(q, (bwl_send){ .command = REDIS_QUEUE_RELEASE, .args = { [REDIS_ARG_PREVIOUS_TOKEN] = 1 } },
        now, fx);
}

static void send_command(queue_state *q, phase next, bwl_redis_command command, bwl_ms now,
                         bwl_effects *fx)
{
    bool in_line = command == REDIS_QUEUE_JOIN || command == REDIS_QUEUE_HEARTBEAT ||
                   command == REDIS_QUEUE_REQUEUE;

    if (q->owes && command != REDIS_QUEUE_REQUEUE) {
        release_previous_token(q, next, command, now, fx);
        return;
    }
    q->phase = next;
    put(q,
        (bwl_send){
            .command = (uint8_t)command,
            .args    = { [REDIS_ARG_TICKET] = command == REDIS_QUEUE_JOIN ? (int64_t)q->ticket : 0,
                         [REDIS_ARG_TTL_MS] = in_line ? q->provisional_ttl_ms : 0 },
        },
        now, fx);
}

static void ended(queue_state *q, bwl_outcome_kind kind, bwl_effects *fx)
{
    q->phase = IDLE;
    bwl_complete(fx, kind);
}

/* What a lease, or a claim, is worth that began after `at`. */
static bwl_ms worth(bwl_ms at, bwl_ms lease_ms)
{
    return bwl_ms_add(at, lease_ms) - bwl_drift_ms(lease_ms);
}

static void held(queue_state *q, bwl_effects *fx)
{
    q->phase    = HELD;
    q->was_held = true;
    bwl_complete_held(fx, worth(q->sent_at, q->lease_ms), q->fence);
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

/* ---- standing in line ------------------------------------------------------------------------ */

static void heartbeat(queue_state *q, bwl_ms now, bwl_effects *fx)
{
    send_command(q, QUEUED, REDIS_QUEUE_HEARTBEAT, now, fx);
}

static void queued(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    const bwl_queue_status *status = ev->details;

    if (q->phase != QUEUED)
        bwl_complete(fx, BWL_QUEUED);
    q->phase = QUEUED;
    q->seen  = (bwl_clock_sample){ .at = q->sent_at, .server_us = status->server_us };
    bwl_queue_wake_to_heartbeat(ev, fx);
}

/* The server gave it to us, and we hold until `until` if that was soon enough. */
static void granted(queue_state *q, bwl_ms until, uint64_t fence, bwl_ms now, bwl_effects *fx)
{
    bool is_enough =
        !q->is_synced && until > now && until - now >= q->provisional_ttl_ms / ENOUGH_OF;
    bool is_known = q->phase == QUEUED; /* to those above us, that this takes time          */

    learn_fence(q, fence);
    q->seen = (bwl_clock_sample){ 0 };
    if (is_enough)
        bwl_complete_held(fx, until, q->fence);
    else if (!is_known && q->may_wait)
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
        return; /* about a place that we have left */
    after = bwl_queue_granted_after(q->seen, status->server_us, ev->now,
                                    bwl_drift_ms(q->provisional_ttl_ms));
    granted(q, worth(after, q->provisional_ttl_ms), ev->number, ev->now, fx);
}

static void placed(queue_state *q, const bwl_event *ev, bwl_effects *fx)
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
    case BWL_QUEUE_STATUS_BUSY: ended(q, BWL_BUSY, fx); return;
    case BWL_QUEUE_STATUS_FULL: ended(q, BWL_FULL, fx); return;
    case BWL_QUEUE_STATUS_QUEUED: queued(q, ev, fx); return;
    case BWL_QUEUE_STATUS_PROVISIONAL:
        granted(q, worth(q->sent_at, q->provisional_ttl_ms), ev->number, ev->now, fx);
        return;
    case BWL_QUEUE_STATUS_MINE: granted(q, NOT_KNOWN, ev->number, ev->now, fx); return;
    case BWL_QUEUE_STATUS_GONE:
        ended(q, q->phase == YIELDING ? BWL_LOST : BWL_RETRY_WITH_NEW_TOKEN, fx);
        return;
    case BWL_QUEUE_STATUS_MORE: break;
    }
    bwl_unreachable("no answer to who asks for a place");
}

/* The connection on which we stood in line has ended, and with it what we knew of the clock that
 * counts: another server may be behind this name now. */
static void cut_off(queue_state *q, bwl_ms now, bwl_effects *fx)
{
    q->seen.server_us = 0;
    heartbeat(q, now, fx);
}

static void looked(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (was_carried_out(ev))
        placed(q, ev, fx);
    else if (ev->kind == BWL_DOWN)
        cut_off(q, ev->now, fx);
    else /* we keep our place all the same */
        bwl_wake_at(fx, bwl_ms_add(ev->now, bwl_queue_retry_ms(&ev->fresh)));
}

static void acquire_answered(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (bwl_was_answered(ev, fx))
        placed(q, ev, fx);
    else
        q->phase = IDLE;
}

/* ---- a claim --------------------------------------------------------------------------------- */

static void confirm(queue_state *q, bwl_ms now, bwl_effects *fx)
{
    send_command(q, CONFIRMING, REDIS_QUEUE_EXTEND, now, fx);
}

/* Nothing was told of this claim.  Not answered: it may be ours. */
static void provisional_answered(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->kind == BWL_DOWN || ev->answer == BWL_RETRYABLE || ev->answer == BWL_NOT_SENT) {
        ended(q, BWL_UNKNOWN, fx);
    } else if (ev->answer == BWL_REFUSED) {
        ended(q, BWL_STORE_REFUSED, fx);
    } else if (ev->answer == BWL_YES) {
        held(q, fx);
    } else { /* too late: others have it, or had it.  Next time we need longer */
        q->provisional_ttl_ms = bwl_ms_add(q->provisional_ttl_ms, q->provisional_ttl_ms);
        ended(q, BWL_RETRY_WITH_NEW_TOKEN, fx);
    }
}

static void lost(queue_state *q, bwl_effects *fx)
{
    q->asking.asked = NO_REQUEST;
    q->unconfirmed  = NO_REQUEST;
    ended(q, BWL_LOST, fx);
}

/* We hold, until the claim ends; whoever is above us sees to that. */
static void confirmed(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (ev->kind == BWL_DOWN)
        confirm(q, ev->now, fx);
    else if (ev->answer == BWL_YES)
        held(q, fx);
    else if (ev->answer == BWL_NO)
        lost(q, fx);
    else
        bwl_wake_at(fx, bwl_ms_add(ev->now, RECONFIRM_MS));
}

/* What is not ours once is never ours again by the same token, whatever a later question says. */
static bool is_late_no(const queue_state *q, const bwl_event *ev)
{
    return q->unconfirmed != NO_REQUEST && ev->tag == q->unconfirmed && ev->kind == BWL_REPLY &&
           ev->answer == BWL_NO;
}

static void extended(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    q->phase = HELD;
    if (!bwl_was_answered(ev, fx))
        return;
    if (ev->answer == BWL_YES)
        held(q, fx);
    else
        lost(q, fx);
}

/* ---- letting go ------------------------------------------------------------------------------ */

static bool is_more(const bwl_event *ev)
{
    const bwl_queue_status *status = ev->details;

    return ev->kind == BWL_REPLY && ev->answer == BWL_YES && status != NULL &&
           status->kind == BWL_QUEUE_STATUS_MORE;
}

static void released(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (!bwl_was_answered(ev, fx))
        q->phase = IDLE;
    else if (ev->answer == BWL_NO)
        ended(q, BWL_LOST, fx);
    else if (is_more(ev))
        send_command(q, DISPATCHING, REDIS_QUEUE_DISPATCH_NEXT, ev->now, fx);
    else
        ended(q, BWL_RELEASED, fx);
}

/* It is released; without this, whoever waits finds out at his next HEARTBEAT. */
static void poked(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (is_more(ev))
        send_command(q, DISPATCHING, REDIS_QUEUE_DISPATCH_NEXT, ev->now, fx);
    else
        ended(q, BWL_RELEASED, fx);
}

/* ---- giving it on, and standing in line again ------------------------------------------------ */

static void yielded(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (was_carried_out(ev)) {
        q->owes = false;
        placed(q, ev, fx);
    } else { /* it may be ours still, by a token that we have no use for */
        ended(q, BWL_UNKNOWN, fx);
    }
}

static void answered(queue_state *q, const bwl_event *ev, bwl_effects *fx);

/* That it was not ours by that token is as good: it will not be.  (Whoever is passed over then, and
 * has nobody to DISPATCH_NEXT, is found by who stands behind him.) Without an answer, the
 * question that should have come next has none either. */
static void freed(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    if (was_carried_out(ev)) {
        q->owes = false;
        send_command(q, q->next, q->next_command, ev->now, fx);
    } else {
        q->phase = q->next;
        answered(q, ev, fx);
    }
}

/* ---- commands and events --------------------------------------------------------------------- */

static void yield(queue_state *q, bwl_ms now, bwl_effects *fx)
{
    assert(q->phase == HELD || q->phase == CONFIRMING || q->phase == EXTENDING);
    q->unconfirmed = NO_REQUEST;
    q->ticket      = 0;
    q->owes        = true;
    send_command(q, YIELDING, REDIS_QUEUE_REQUEUE, now, fx);
}

static void acquire(queue_state *q, const bwl_command *cmd, bwl_effects *fx)
{
    bwl_ms wished_ms = q->provisional_ttl_ms > PROVISIONAL_TTL_MIN_MS ? q->provisional_ttl_ms
                                                                      : PROVISIONAL_TTL_MIN_MS;

    if (cmd->again) {
        send_command(q, RESOLVING, REDIS_QUEUE_HEARTBEAT, cmd->now, fx);
        return;
    }
    q->may_wait           = cmd->may_wait;
    q->was_held           = false;
    q->fence              = 0;
    q->provisional_ttl_ms = bwl_ms_min(wished_ms, q->lease_ms);
    if (cmd->yields)
        yield(q, cmd->now, fx);
    else
        send_command(q, ASKED, cmd->may_wait ? REDIS_QUEUE_JOIN : REDIS_QUEUE_TAKE, cmd->now, fx);
}

static void queue_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    queue_state *q = state;

    q->lease_ms  = request->lease_ms;
    q->is_synced = request->replicas > 0;
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        assert(q->phase == IDLE || cmd->yields);
        acquire(q, cmd, fx);
        break;
    case BWL_EXTEND: /* instead of the confirmation, if that is out */
        assert(q->phase == HELD || q->phase == CONFIRMING);
        if (q->asking.asked != NO_REQUEST)
            q->unconfirmed = q->asking.asked;
        send_command(q, EXTENDING, REDIS_QUEUE_EXTEND, cmd->now, fx);
        break;
    case BWL_RELEASE:
        q->seen        = (bwl_clock_sample){ 0 };
        q->unconfirmed = NO_REQUEST;
        send_command(q, LEAVING, q->was_held ? REDIS_QUEUE_RELEASE : REDIS_QUEUE_CANCEL, cmd->now,
                     fx);
        break;
    }
}

static void answered(queue_state *q, const bwl_event *ev, bwl_effects *fx)
{
    assert(ev->kind == BWL_DOWN || ev->answer != BWL_FOREIGN_VALUE);
    switch (q->phase) {
    case ASKED:
    case RESOLVING: acquire_answered(q, ev, fx); return;
    case QUEUED: looked(q, ev, fx); return;
    case PROVISIONAL: provisional_answered(q, ev, fx); return;
    case CONFIRMING: confirmed(q, ev, fx); return;
    case EXTENDING: extended(q, ev, fx); return;
    case LEAVING: released(q, ev, fx); return;
    case DISPATCHING: poked(q, ev, fx); return;
    case YIELDING: yielded(q, ev, fx); return;
    case FREEING: freed(q, ev, fx); return;
    case IDLE:
    case HELD: break;
    }
    bwl_unreachable("no question is out in these phases");
}

static void queue_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    queue_state *q       = state;
    bool         is_open = q->asking.asked != NO_REQUEST;

    (void)request; /* what it was when the question was put counts */
    switch (ev->kind) {
    case BWL_REPLY:
    case BWL_DOWN:
        if (bwl_ends_request(&q->asking, ev))
            answered(q, ev, fx);
        else if (ev->kind == BWL_DOWN && ev->tag == NO_REQUEST && q->phase == QUEUED && !is_open)
            cut_off(q, ev->now, fx);
        else if (is_late_no(q, ev))
            lost(q, fx);
        break;
    case BWL_ALARM:
        if (q->phase == QUEUED && !is_open)
            heartbeat(q, ev->now, fx);
        else if (q->phase == CONFIRMING && !is_open)
            confirm(q, ev->now, fx);
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
    .init             = queue_init,
    .command          = queue_command,
    .event            = queue_event,
};
