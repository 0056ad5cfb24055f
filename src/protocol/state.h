/*
 * state.h -- the private state of `token`, `queue` and the replicated locks; the times of `queue`.
 * Besides the protocols themselves, only the lab includes it: its fingerprints and invariants read
 * the state.
 */
#pragma once

#include "core/one_request.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

/* Also of `redisson` and `symfony`. */
typedef struct bwl_token_state {
    bwl_verb        verb; /* of the command in progress */
    bwl_one_request in_flight;
    bwl_ms          until; /* end of the lease after a YES: counted from the first command */
    uint64_t        fence; /* of the acquire; 0: none */
} bwl_token_state;

/* The server skips a waiter without a heartbeat for three times as long. */
enum { BWL_QUEUE_HEARTBEAT_MS = 1000 };

/* A heartbeat may be late by this much. */
enum { BWL_QUEUE_SLACK_MS = 50 };

/* A sample of the server's clock: it read `server_us` when the client's clock read `at` or later.
 * server_us 0: no sample; the grant happened after `at`. */
typedef struct bwl_clock_sample {
    bwl_ms  at;
    int64_t server_us;
} bwl_clock_sample;

/* Two of the phases of queue.c: the first one, and the one that uses `seen`. */
enum { BWL_QUEUE_IDLE = 1, BWL_QUEUE_QUEUED = 4 };

typedef struct bwl_queue_state {
    uint32_t        phase; /* of queue.c */
    bool            may_wait;
    bool            was_held;       /* with this token: its entry is not in the queue any more */
    bool            confirms_first; /* a provisional grant is not held before it is confirmed */
    bool            once;           /* a rest ends the acquire */
    bool            shares;         /* the commands that share are sent */
    bool            other_may_own;  /* LEAVING: the other token is released, too, if need be */
    bwl_one_request in_flight;
    uint32_t unconfirmed; /* tag of a confirmation that an extension replaced: its NO counts */
    bwl_ms   sent_at;     /* of the last command */
    bwl_ms   lease_ms;    /* of the last command from the lock machine */
    bwl_ms   provisional_ttl_ms;        /* of a grant to this token */
    uint64_t fence;                     /* the highest that this token got */
    uint64_t ticket;                    /* kept from one attempt to the next; 0: none yet */
    bwl_clock_sample  seen;             /* QUEUED: the server's clock */
    bool              previous_may_own; /* the server may have the lock with the previous token */
    uint32_t          next;             /* FREEING: the phase after a reply */
    bwl_redis_command next_command;
} bwl_queue_state;

/* Milliseconds from a reply with this status to the next heartbeat. */
bwl_ms bwl_queue_heartbeat_ms(const bwl_queue_status *queue_status, const bwl_random *fresh);

/* The slack of that heartbeat; 0 if the lock may be free by then. */
bwl_ms bwl_queue_slack_ms(const bwl_queue_status *queue_status);

/* Milliseconds to the next heartbeat after one that was not carried out. */
bwl_ms bwl_queue_retry_ms(const bwl_random *fresh);

/* A time on the client's clock, at most `now`, certainly before the grant that the server made when
 * its clock read `given_us`.  slack_ms: 0 or more; if the server's clock seems to be further ahead
 * than this, it was set in between, and the result is `seen.at`. */
bwl_ms bwl_queue_granted_after(bwl_clock_sample seen, int64_t given_us, bwl_ms now,
                               bwl_ms slack_ms);

enum { BWL_SYNCED_INNER_MAX = 96, BWL_SYNCED_TAG = 1 << 28 /* in no tag of the inner protocol */ };

typedef struct bwl_synced_state {
    _Alignas(8) unsigned char inner[BWL_SYNCED_INNER_MAX]; /* first: the lab reads it */
    uint32_t tag;                                          /* of REPLICATED in flight; 0: none */
    uint32_t count;                                        /* REPLICATED commands sent */
    bwl_ms   until; /* of the inner HELD, which is not reported yet */
    uint64_t fence;
    bwl_ms   sent_at;     /* of the last REPLICATED */
    bwl_ms   retry_until; /* no REPLICATED is sent after this */
    bwl_verb verb;
} bwl_synced_state;
