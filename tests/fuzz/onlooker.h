/*
 * onlooker.h -- for fuzz_protocol.c: what somebody knows who sees all questions of one hold and all
 * answers to them, and what may be asked by that.
 */
#ifndef ONLOOKER_H
#define ONLOOKER_H

#include "queue_line.h"
#include "tape.h"

#include "lock/machine.h"
#include "protocol/protocol.h"
#include "protocol/store/local.h"
#include "protocol/store/redis.h"

#include <string.h>

enum { OPEN_MAX = 8 };

typedef struct question {
    uint32_t tag;
    uint8_t  word;
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
    const bwl_claim *claim = &w->hold.claim;

    q->worth = w->now + claim->lease_ms - bwl_drift_ms(claim->lease_ms);
    if (q->word == REDIS_SET_IF_ABSENT) {
        require(claim->attempt == w->attempt + 1);
        require(strcmp(claim->token, w->token) != 0);
        require(!w->may_be_ours || w->asked_back);
        memcpy(w->token, claim->token, sizeof w->token);
        w->attempt     = claim->attempt;
        w->first_worth = q->worth;
        w->asked_back  = false;
        w->may_be_ours = true;
    }
    require(strcmp(claim->token, w->token) == 0);
    if (q->word == REDIS_SET_IF_ABSENT_OR_MINE) {
        require(!w->asked_back);
        q->worth       = w->first_worth;
        w->may_be_ours = true;
    }
    if (q->word == REDIS_EXTEND_IF_MINE)
        require(!w->asked_back);
}

static inline void judge_place(world *w, const question *q)
{
    if (q->word == LOCAL_JOIN || q->word == LOCAL_JOIN_OR_LEAVE) {
        require(!w->asked_back && !w->may_be_ours);
        w->may_be_ours = true;
    }
    if (q->word == LOCAL_TRY)
        require(!w->asked_back && w->may_be_ours);
}

/* As judge_claim; and what stands in line is asked for by the ticket that it has. */
static inline void judge_line(world *w, question *q, const bwl_ask *ask)
{
    const bwl_claim *claim = &w->hold.claim;
    bool             first = q->word == REDIS_QUEUE_JOIN || q->word == REDIS_QUEUE_TAKE;

    q->worth = w->now + claim->lease_ms - bwl_drift_ms(claim->lease_ms);
    if (first) {
        require(claim->attempt == w->attempt + 1);
        require(strcmp(claim->token, w->token) != 0);
        require(!w->may_be_ours || w->asked_back || w->line.was_denied);
        memcpy(w->token, claim->token, sizeof w->token);
        w->attempt         = claim->attempt;
        w->asked_back      = false;
        w->may_be_ours     = true;
        w->worth           = 0;
        w->line.fence      = 0;
        w->line.was_held   = false;
        w->line.was_denied = false;
    }
    require(strcmp(claim->token, w->token) == 0);
    require(first || w->may_be_ours || w->asked_back);
    if (q->word == REDIS_QUEUE_JOIN || q->word == REDIS_QUEUE_BEAT) {
        require(ask->claim_ms > 0 && ask->claim_ms <= claim->lease_ms);
        require(q->word == REDIS_QUEUE_JOIN || w->line.claim_ms == 0 || ask->stamp == 0);
        w->line.claim_ms = ask->claim_ms;
    }
    if (q->word == REDIS_QUEUE_JOIN)
        require((uint64_t)ask->stamp == w->line.ticket);
    if (q->word == REDIS_QUEUE_BEAT || q->word == REDIS_QUEUE_EXTEND)
        require(!w->asked_back);
    if (q->word == REDIS_QUEUE_BEAT || q->word == REDIS_QUEUE_CANCEL)
        require(!w->line.was_held);
    if (q->word == REDIS_QUEUE_RELEASE)
        require(w->line.was_held);
    if (q->word == REDIS_QUEUE_POKE)
        require(w->asked_back);
}

static inline bool gives_back(const world *w, uint8_t word)
{
    if (w->is_queue)
        return word == REDIS_QUEUE_RELEASE || word == REDIS_QUEUE_CANCEL;
    return word == (w->is_token ? (uint8_t)REDIS_DELETE_IF_MINE : (uint8_t)LOCAL_LEAVE);
}

static inline void asks(world *w, const bwl_ask *ask)
{
    question *q;

    require(ask->node == 0);
    require(w->is_queue ? is_queue_word(ask->word) : ask->word >= 1 && ask->word <= 4);
    w->asked_count++;
    q  = latest(w);
    *q = (question){ .tag     = ask->tag,
                     .word    = ask->word,
                     .is_open = true,
                     .attempt = w->hold.claim.attempt,
                     .sent_at = w->now,
                     .worth   = BWL_NEVER };
    if (w->is_queue)
        judge_line(w, q, ask);
    else if (w->is_token)
        judge_claim(w, q);
    else
        judge_place(w, q);
    if (gives_back(w, ask->word))
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
    const bwl_place *place       = ev->place;
    line            *l           = &w->line;
    bool             first       = q->word == REDIS_QUEUE_JOIN || q->word == REDIS_QUEUE_TAKE;
    bool             carried_out = ev->answer == BWL_YES || ev->answer == BWL_NO;

    w->yes = ev->answer == BWL_YES;
    if (place->ticket != 0)
        l->ticket = place->ticket;
    if (ev->number > l->fence)
        l->fence = ev->number;
    if (place->how == BWL_HOW_HELD || (q->word == REDIS_QUEUE_EXTEND && w->yes)) {
        may_be_worth(w, q->worth);
        l->was_held = true; /* too late to be told, perhaps */
    }
    if (place->how == BWL_HOW_CLAIMED)
        may_be_worth(w, bwl_later(q->sent_at, l->claim_ms) - bwl_drift_ms(l->claim_ms));
    if (place->how == BWL_HOW_QUEUED) {
        l->seen_at = q->sent_at;
        l->seen_us = place->server_us;
        l->was_cut = false;
    }
    if ((first && !carried_out) || place->how == BWL_HOW_BUSY || place->how == BWL_HOW_GONE ||
        place->how == BWL_HOW_FULL)
        w->may_be_ours = false;
}

/* The latest question has this answer: what the onlooker learns from it. */
static inline void learn(world *w, const question *q, bwl_answer answer, uint64_t number)
{
    bool not_carried_out = answer == BWL_LATER || answer == BWL_REFUSED || answer == BWL_UNSENT;

    w->yes = answer == BWL_YES;
    if (w->is_token) {
        if (answer == BWL_NO || (q->word == REDIS_SET_IF_ABSENT && not_carried_out))
            w->may_be_ours = false;
        if (answer == BWL_YES && q->word != REDIS_DELETE_IF_MINE)
            w->worth = q->word == REDIS_EXTEND_IF_MINE && w->worth > q->worth ? w->worth : q->worth;
    } else {
        if (q->word == LOCAL_JOIN || (q->word == LOCAL_TRY && answer == BWL_NO))
            w->grants = answer == BWL_NO && number == LOCAL_WILL_GRANT;
        if (q->word == LOCAL_JOIN && not_carried_out)
            w->may_be_ours = false;
        if (q->word == LOCAL_JOIN_OR_LEAVE && answer != BWL_YES)
            w->may_be_ours = false;
        if (q->word == LOCAL_TRY && answer == BWL_LATER)
            w->may_be_ours = false;
    }
}

#endif
