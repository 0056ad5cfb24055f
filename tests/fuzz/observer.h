/*
 * observer.h -- for fuzz_protocol.c: the state that an observer derives from all requests of one
 * hold and all replies to them, and the requests that this state allows.
 */
#ifndef OBSERVER_H
#define OBSERVER_H

#include "queue_model.h"
#include "tape.h"

#include "lock/machine.h"
#include "protocol/store/local.h"
#include "protocol/store/redis.h"

#include <string.h>

enum { FLIGHT_MAX = 8 };

typedef struct fuzz_request {
    uint32_t tag;
    uint8_t  command;
    bool     in_flight;
    uint32_t attempt;
    bwl_ms   sent_at;
    bwl_ms   valid_until; /* a YES to it grants the lock until then */
} fuzz_request;

/* The state of the observer. */
typedef struct world {
    tape     tape;
    bwl_hold hold;
    bool     is_token;
    bool     is_queue;
    bwl_ms   now;
    bwl_ms   wake_at;
    uint8_t  chance;
    uint32_t turn;

    fuzz_request sent[FLIGHT_MAX]; /* the latest ones, in a ring */
    unsigned     sent_count;
    bool         yes;         /* this step had a YES to the latest request, or a push */
    bool         grants;      /* the store will push the grant: no alarm is needed */
    bool         ended;       /* the end was reported */
    bool         may_be_ours; /* a request may have written our token into the store */
    bool         released;    /* and since then a release was sent */
    uint32_t     attempt;     /* the latest one that was sent */
    char         token[BWL_TOKEN_MAX + 1];
    bwl_ms       first_until; /* of this attempt: from before its first request */
    bwl_ms       valid_until; /* the latest end that a YES has given it */
    bwl_ms       ends_at;     /* max_hold after the reply that acquired it */
    queue_state  queue;       /* of protocol queue */
} world;

/* ---- requests -------------------------------------------------------------------------------- */

static inline fuzz_request *latest(world *w)
{
    return &w->sent[w->sent_count % FLIGHT_MAX];
}

/* A request in flight, the latest one with choice 0; NULL if there is none. */
static inline fuzz_request *request_in_flight(world *w, uint8_t choice)
{
    for (unsigned i = 0; i < FLIGHT_MAX; i++) {
        fuzz_request *q = &w->sent[(w->sent_count + FLIGHT_MAX - i + choice) % FLIGHT_MAX];
        if (q->in_flight)
            return q;
    }
    return NULL;
}

/* A token is sent once, then again only to resolve it, and not after a release. */
static inline void check_token_request(world *w, fuzz_request *q)
{
    const bwl_lock_request *request = &w->hold.request;

    q->valid_until = w->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    if (q->command == REDIS_SET_IF_ABSENT) {
        require(request->attempt == w->attempt + 1);
        require(strcmp(request->token, w->token) != 0);
        require(!w->may_be_ours || w->released);
        memcpy(w->token, request->token, sizeof w->token);
        w->attempt     = request->attempt;
        w->first_until = q->valid_until;
        w->released    = false;
        w->may_be_ours = true;
    }
    require(strcmp(request->token, w->token) == 0);
    if (q->command == REDIS_SET_IF_ABSENT_OR_MINE) {
        require(!w->released);
        q->valid_until = w->first_until;
        w->may_be_ours = true;
    }
    if (q->command == REDIS_EXTEND_IF_MINE)
        require(!w->released);
}

static inline void check_local_request(world *w, const fuzz_request *q)
{
    if (q->command == LOCAL_JOIN || q->command == LOCAL_JOIN_OR_LEAVE) {
        require(!w->released && !w->may_be_ours);
        w->may_be_ours = true;
    }
    if (q->command == LOCAL_TRY)
        require(!w->released && w->may_be_ours);
}

/* As check_token_request; and an entry in the queue is named by its ticket. */
static inline void check_queue_request(world *w, fuzz_request *q, const bwl_send *send)
{
    const bwl_lock_request *request = &w->hold.request;
    bool first = q->command == REDIS_QUEUE_JOIN || q->command == REDIS_QUEUE_TAKE;

    q->valid_until = w->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    if (first) {
        require(request->attempt == w->attempt + 1);
        require(strcmp(request->token, w->token) != 0);
        require(!w->may_be_ours || w->released || w->queue.was_denied);
        memcpy(w->token, request->token, sizeof w->token);
        w->attempt          = request->attempt;
        w->released         = false;
        w->may_be_ours      = true;
        w->valid_until      = 0;
        w->queue.fence      = 0;
        w->queue.was_held   = false;
        w->queue.was_denied = false;
    }
    require(strcmp(request->token, w->token) == 0);
    require(first || w->may_be_ours || w->released);
    if (q->command == REDIS_QUEUE_JOIN || q->command == REDIS_QUEUE_HEARTBEAT) {
        require(send->args[REDIS_ARG_TTL_MS] > 0 &&
                send->args[REDIS_ARG_TTL_MS] <= request->lease_ms);
        require(q->command == REDIS_QUEUE_JOIN || w->queue.provisional_ttl_ms == 0 ||
                send->args[REDIS_ARG_TICKET] == 0);
        w->queue.provisional_ttl_ms = send->args[REDIS_ARG_TTL_MS];
    }
    if (q->command == REDIS_QUEUE_JOIN)
        require((uint64_t)send->args[REDIS_ARG_TICKET] == w->queue.ticket);
    if (q->command == REDIS_QUEUE_HEARTBEAT || q->command == REDIS_QUEUE_EXTEND)
        require(!w->released);
    if (q->command == REDIS_QUEUE_HEARTBEAT || q->command == REDIS_QUEUE_CANCEL)
        require(!w->queue.was_held);
    if (q->command == REDIS_QUEUE_RELEASE)
        require(w->queue.was_held);
    if (q->command == REDIS_QUEUE_DISPATCH_NEXT)
        require(w->released);
}

static inline bool is_release(const world *w, uint8_t command)
{
    if (w->is_queue)
        return command == REDIS_QUEUE_RELEASE || command == REDIS_QUEUE_CANCEL;
    return command == (w->is_token ? (uint8_t)REDIS_DELETE_IF_MINE : (uint8_t)LOCAL_LEAVE);
}

static inline void observe_send(world *w, const bwl_send *send)
{
    fuzz_request *q;

    require(send->node == 0);
    require(w->is_queue ? is_queue_command(send->command)
                        : send->command >= 1 && send->command <= 4);
    w->sent_count++;
    q  = latest(w);
    *q = (fuzz_request){ .tag         = send->tag,
                         .command     = send->command,
                         .in_flight   = true,
                         .attempt     = w->hold.request.attempt,
                         .sent_at     = w->now,
                         .valid_until = BWL_NEVER };
    if (w->is_queue)
        check_queue_request(w, q, send);
    else if (w->is_token)
        check_token_request(w, q);
    else
        check_local_request(w, q);
    if (is_release(w, send->command))
        w->released = true;
}

static inline void raise_valid_until(world *w, bwl_ms until)
{
    if (until > w->valid_until)
        w->valid_until = until;
}

/* The reply to the latest request: updates the state of the queue. */
static inline void observe_queue_reply(world *w, const fuzz_request *q, const bwl_event *ev)
{
    const bwl_queue_status *queue_status = ev->details;
    queue_state            *l            = &w->queue;
    bool first       = q->command == REDIS_QUEUE_JOIN || q->command == REDIS_QUEUE_TAKE;
    bool carried_out = ev->answer == BWL_YES || ev->answer == BWL_NO;

    w->yes = ev->answer == BWL_YES;
    if (queue_status->ticket != 0)
        l->ticket = queue_status->ticket;
    if (ev->number > l->fence)
        l->fence = ev->number;
    if (queue_status->kind == BWL_QUEUE_STATUS_HELD ||
        (q->command == REDIS_QUEUE_EXTEND && w->yes)) {
        raise_valid_until(w, q->valid_until);
        l->was_held = true; /* too late to be reported, perhaps */
    }
    if (queue_status->kind == BWL_QUEUE_STATUS_PROVISIONAL)
        raise_valid_until(w, bwl_ms_add(q->sent_at, l->provisional_ttl_ms) -
                                 bwl_drift_ms(l->provisional_ttl_ms));
    if (queue_status->kind == BWL_QUEUE_STATUS_QUEUED) {
        l->seen_at = q->sent_at;
        l->seen_us = queue_status->server_us;
        l->was_cut = false;
    }
    if ((first && !carried_out) || queue_status->kind == BWL_QUEUE_STATUS_BUSY ||
        queue_status->kind == BWL_QUEUE_STATUS_GONE || queue_status->kind == BWL_QUEUE_STATUS_FULL)
        w->may_be_ours = false;
}

/* The reply to the latest request: updates the state. */
static inline void observe_reply(world *w, const fuzz_request *q, bwl_answer answer,
                                 uint64_t number)
{
    bool not_carried_out =
        answer == BWL_RETRYABLE || answer == BWL_REFUSED || answer == BWL_NOT_SENT;

    w->yes = answer == BWL_YES;
    if (w->is_token) {
        if (answer == BWL_NO || (q->command == REDIS_SET_IF_ABSENT && not_carried_out))
            w->may_be_ours = false;
        if (answer == BWL_YES && q->command != REDIS_DELETE_IF_MINE)
            w->valid_until = q->command == REDIS_EXTEND_IF_MINE && w->valid_until > q->valid_until
                                 ? w->valid_until
                                 : q->valid_until;
    } else {
        if (q->command == LOCAL_JOIN || (q->command == LOCAL_TRY && answer == BWL_NO))
            w->grants = answer == BWL_NO && number == LOCAL_WILL_GRANT;
        if (q->command == LOCAL_JOIN && not_carried_out)
            w->may_be_ours = false;
        if (q->command == LOCAL_JOIN_OR_LEAVE && answer != BWL_YES)
            w->may_be_ours = false;
        if (q->command == LOCAL_TRY && answer == BWL_RETRYABLE)
            w->may_be_ours = false;
    }
}

#endif
