/*
 * onlooker.h -- for fuzz_protocol.c: what somebody knows who sees all questions of one hold and all
 * answers to them, and what may be asked by that.
 */
#ifndef ONLOOKER_H
#define ONLOOKER_H

#include "queue_line.h"
#include "tape.h"

#include "lock/machine.h"
#include "protocol/store/local.h"
#include "protocol/store/redis.h"

#include <string.h>

enum { OPEN_MAX = 8 };

typedef struct question {
    uint32_t tag;
    uint8_t  command;
    bool     is_open;
    uint32_t attempt;
    bwl_ms   sent_at;
    bwl_ms   worth; /* until when a yes to it is worth something */
} question;

/* What an onlooker knows. */
typedef struct world {
    tape     tape;
    bwl_hold hold;
    bool     is_token;
    bool     is_queue;
    bwl_ms   now;
    bwl_ms   wake_at;
    uint8_t  chance;
    uint32_t turn;

    question asked[OPEN_MAX]; /* the latest ones, in a ring      */
    unsigned asked_count;
    bool     yes;         /* this step brought a yes to the latest question, or a push    */
    bool     grants;      /* the store said that it will give us the lock: we need no alarm */
    bool     ended;       /* the end was told                                             */
    bool     may_be_ours; /* a question may have put something of ours into the store     */
    bool     asked_back;  /* and since then a release was asked                           */
    uint32_t attempt;     /* the latest that was asked for                                */
    char     token[BWL_TOKEN_MAX + 1];
    bwl_ms   first_worth; /* of this attempt: from before its first question              */
    bwl_ms   worth;       /* the latest end that a yes has given it                       */
    bwl_ms   ends_at;     /* max_hold after the answer that won it                 */
    line     line;        /* of a queue                                            */
} world;

/* ---- the questions --------------------------------------------------------------------------- */

static inline question *latest(world *w)
{
    return &w->asked[w->asked_count % OPEN_MAX];
}

/* An open question of the ring, the latest of them with choice 0; NULL if there is none. */
static inline question *open_question(world *w, uint8_t choice)
{
    for (unsigned i = 0; i < OPEN_MAX; i++) {
        question *q = &w->asked[(w->asked_count + OPEN_MAX - i + choice) % OPEN_MAX];
        if (q->is_open)
            return q;
    }
    return NULL;
}

/* What a token was asked for: once, then again only to settle it, and not after a release. */
static inline void judge_claim(world *w, question *q)
{
    const bwl_lock_request *request = &w->hold.request;

    q->worth = w->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    if (q->command == REDIS_SET_IF_ABSENT) {
        require(request->attempt == w->attempt + 1);
        require(strcmp(request->token, w->token) != 0);
        require(!w->may_be_ours || w->asked_back);
        memcpy(w->token, request->token, sizeof w->token);
        w->attempt     = request->attempt;
        w->first_worth = q->worth;
        w->asked_back  = false;
        w->may_be_ours = true;
    }
    require(strcmp(request->token, w->token) == 0);
    if (q->command == REDIS_SET_IF_ABSENT_OR_MINE) {
        require(!w->asked_back);
        q->worth       = w->first_worth;
        w->may_be_ours = true;
    }
    if (q->command == REDIS_EXTEND_IF_MINE)
        require(!w->asked_back);
}

static inline void judge_place(world *w, const question *q)
{
    if (q->command == LOCAL_JOIN || q->command == LOCAL_JOIN_OR_LEAVE) {
        require(!w->asked_back && !w->may_be_ours);
        w->may_be_ours = true;
    }
    if (q->command == LOCAL_TRY)
        require(!w->asked_back && w->may_be_ours);
}

/* As judge_claim; and what stands in line is asked for by the ticket that it has. */
static inline void judge_line(world *w, question *q, const bwl_send *send)
{
    const bwl_lock_request *request = &w->hold.request;
    bool first = q->command == REDIS_QUEUE_JOIN || q->command == REDIS_QUEUE_TAKE;

    q->worth = w->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    if (first) {
        require(request->attempt == w->attempt + 1);
        require(strcmp(request->token, w->token) != 0);
        require(!w->may_be_ours || w->asked_back || w->line.was_denied);
        memcpy(w->token, request->token, sizeof w->token);
        w->attempt         = request->attempt;
        w->asked_back      = false;
        w->may_be_ours     = true;
        w->worth           = 0;
        w->line.fence      = 0;
        w->line.was_held   = false;
        w->line.was_denied = false;
    }
    require(strcmp(request->token, w->token) == 0);
    require(first || w->may_be_ours || w->asked_back);
    if (q->command == REDIS_QUEUE_JOIN || q->command == REDIS_QUEUE_HEARTBEAT) {
        require(send->args[REDIS_ARG_TTL_MS] > 0 &&
                send->args[REDIS_ARG_TTL_MS] <= request->lease_ms);
        require(q->command == REDIS_QUEUE_JOIN || w->line.provisional_ttl_ms == 0 ||
                send->args[REDIS_ARG_TICKET] == 0);
        w->line.provisional_ttl_ms = send->args[REDIS_ARG_TTL_MS];
    }
    if (q->command == REDIS_QUEUE_JOIN)
        require((uint64_t)send->args[REDIS_ARG_TICKET] == w->line.ticket);
    if (q->command == REDIS_QUEUE_HEARTBEAT || q->command == REDIS_QUEUE_EXTEND)
        require(!w->asked_back);
    if (q->command == REDIS_QUEUE_HEARTBEAT || q->command == REDIS_QUEUE_CANCEL)
        require(!w->line.was_held);
    if (q->command == REDIS_QUEUE_RELEASE)
        require(w->line.was_held);
    if (q->command == REDIS_QUEUE_DISPATCH_NEXT)
        require(w->asked_back);
}

static inline bool gives_back(const world *w, uint8_t command)
{
    if (w->is_queue)
        return command == REDIS_QUEUE_RELEASE || command == REDIS_QUEUE_CANCEL;
    return command == (w->is_token ? (uint8_t)REDIS_DELETE_IF_MINE : (uint8_t)LOCAL_LEAVE);
}

static inline void asks(world *w, const bwl_send *send)
{
    question *q;

    require(send->node == 0);
    require(w->is_queue ? is_queue_word(send->command) : send->command >= 1 && send->command <= 4);
    w->asked_count++;
    q  = latest(w);
    *q = (question){ .tag     = send->tag,
                     .command = send->command,
                     .is_open = true,
                     .attempt = w->hold.request.attempt,
                     .sent_at = w->now,
                     .worth   = BWL_NEVER };
    if (w->is_queue)
        judge_line(w, q, send);
    else if (w->is_token)
        judge_claim(w, q);
    else
        judge_place(w, q);
    if (gives_back(w, send->command))
        w->asked_back = true;
}

static inline void may_be_worth(world *w, bwl_ms until)
{
    if (until > w->worth)
        w->worth = until;
}

/* The latest question has this answer: what the onlooker learns from it of the line. */
static inline void learn_place(world *w, const question *q, const bwl_event *ev)
{
    const bwl_queue_status *queue_status = ev->details;
    line                   *l            = &w->line;
    bool first       = q->command == REDIS_QUEUE_JOIN || q->command == REDIS_QUEUE_TAKE;
    bool carried_out = ev->answer == BWL_YES || ev->answer == BWL_NO;

    w->yes = ev->answer == BWL_YES;
    if (queue_status->ticket != 0)
        l->ticket = queue_status->ticket;
    if (ev->number > l->fence)
        l->fence = ev->number;
    if (queue_status->kind == BWL_QUEUE_STATUS_HELD ||
        (q->command == REDIS_QUEUE_EXTEND && w->yes)) {
        may_be_worth(w, q->worth);
        l->was_held = true; /* too late to be told, perhaps */
    }
    if (queue_status->kind == BWL_QUEUE_STATUS_PROVISIONAL)
        may_be_worth(w, bwl_ms_add(q->sent_at, l->provisional_ttl_ms) -
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

/* The latest question has this answer: what the onlooker learns from it. */
static inline void learn(world *w, const question *q, bwl_answer answer, uint64_t number)
{
    bool not_carried_out =
        answer == BWL_RETRYABLE || answer == BWL_REFUSED || answer == BWL_NOT_SENT;

    w->yes = answer == BWL_YES;
    if (w->is_token) {
        if (answer == BWL_NO || (q->command == REDIS_SET_IF_ABSENT && not_carried_out))
            w->may_be_ours = false;
        if (answer == BWL_YES && q->command != REDIS_DELETE_IF_MINE)
            w->worth =
                q->command == REDIS_EXTEND_IF_MINE && w->worth > q->worth ? w->worth : q->worth;
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
