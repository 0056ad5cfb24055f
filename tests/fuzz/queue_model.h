/*
 * queue_model.h -- for fuzz_protocol.c: the replies of a server for a lock with a queue, and the
 * state that the observer derives from them.
 *
 * The server may be wrong about everything, but its replies are those of protocol/store/queue.h:
 * the reader of replies refuses all others.
 */
#ifndef QUEUE_MODEL_H
#define QUEUE_MODEL_H

#include "tape.h"

#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

/* The server's clock at the start; a tape may set it. */
#define SERVER_START_US (INT64_C(1700000000) * 1000000)

typedef struct queue_state {
    uint64_t ticket;             /* the latest ticket in a reply */
    uint64_t fence;              /* the highest fence in a reply to this token */
    bwl_ms   provisional_ttl_ms; /* of a pushed grant */
    bwl_ms   seen_at;            /* before the latest request whose reply had the server's clock */
    int64_t  seen_us;
    bool     was_cut;    /* since then */
    bool     was_held;   /* with this token */
    bool     was_denied; /* the reply to EXTEND was NO: the lock can never be ours again */
} queue_state;

static inline bool is_queue_command(unsigned command)
{
    return command >= REDIS_QUEUE_TAKE && command <= REDIS_QUEUE_DISPATCH_NEXT;
}

/* The server's clock, which a tape may set back and forward. */
static inline int64_t make_server_us(tape *t, bwl_ms now)
{
    uint8_t how = take(t);
    int64_t us  = SERVER_START_US + now * 1000;

    switch (how % 8) {
    case 0: return us + (int64_t)take_two(t) * 1000;
    case 1: return us - (int64_t)take_two(t) * 1000;
    case 2: return us - ((int64_t)take_two(t) << 30);
    case 3: return us + ((int64_t)take_two(t) << 30);
    case 4: return how < 128 ? 0 : INT64_MAX;
    default: return us - (int64_t)take(t) * 1000; /* a moment ago */
    }
}

/* The other fields of a reply with YES or NO: `answer` is changed to fit. */
static inline void make_queue_reply(tape *t, unsigned command, bwl_ms now, bwl_answer *answer,
                                    uint64_t *ret_number, bwl_queue_status *ret_place)
{
    static const bwl_queue_status_kind yes[]  = { BWL_QUEUE_STATUS_HELD,
                                                  BWL_QUEUE_STATUS_PROVISIONAL,
                                                  BWL_QUEUE_STATUS_MINE };
    uint8_t                            choice = take(t);

    *ret_place  = (bwl_queue_status){ 0 };
    *ret_number = 0;
    if (*answer != BWL_YES && *answer != BWL_NO)
        return;
    if (command == REDIS_QUEUE_DISPATCH_NEXT)
        *answer = BWL_YES;
    if (command == REDIS_QUEUE_RELEASE || command == REDIS_QUEUE_CANCEL ||
        command == REDIS_QUEUE_DISPATCH_NEXT)
        ret_place->kind = *answer == BWL_YES && choice % 4 == 0 ? BWL_QUEUE_STATUS_MORE : 0;
    if (command != REDIS_QUEUE_TAKE && command != REDIS_QUEUE_JOIN &&
        command != REDIS_QUEUE_HEARTBEAT)
        return;
    if (*answer == BWL_YES) {
        ret_place->kind    = command == REDIS_QUEUE_TAKE   ? BWL_QUEUE_STATUS_HELD
                             : command == REDIS_QUEUE_JOIN ? yes[choice % 2]
                                                           : yes[1 + choice % 2];
        ret_place->ticket  = ret_place->kind == BWL_QUEUE_STATUS_HELD ? 0 : choice / 4;
        ret_place->left_ms = take(t);
        *ret_number        = choice;
    } else {
        ret_place->kind =
            command == REDIS_QUEUE_TAKE                           ? BWL_QUEUE_STATUS_BUSY
            : command == REDIS_QUEUE_HEARTBEAT && choice % 4 == 0 ? BWL_QUEUE_STATUS_GONE
            : command == REDIS_QUEUE_JOIN && choice % 8 == 0      ? BWL_QUEUE_STATUS_FULL
                                                                  : BWL_QUEUE_STATUS_QUEUED;
        ret_place->is_ours   = choice / 4 % 2 == 0;
        ret_place->ends      = choice / 8 % 2 == 0;
        ret_place->left_ms   = choice % 3 == 0 ? BWL_NEVER : take_two(t);
        ret_place->rank      = choice / 16 % 4;
        ret_place->ticket    = ret_place->kind == BWL_QUEUE_STATUS_QUEUED ? 1 + choice / 4 : 0;
        ret_place->server_us = make_server_us(t, now);
    }
}

/* The latest end of a pushed grant. */
static inline bwl_ms pushed_until(const queue_state *l, int64_t given_us, bwl_ms now)
{
    bwl_ms since = now;

    if (!l->was_cut && given_us <= l->seen_us)
        since = l->seen_at;
    else if (!l->was_cut && (given_us - l->seen_us) / 1000 < now - l->seen_at)
        since = l->seen_at + (given_us - l->seen_us) / 1000;
    return bwl_ms_add(since, l->provisional_ttl_ms) - bwl_drift_ms(l->provisional_ttl_ms);
}

#endif
