/*
 * state.h -- the private state of `token`, `queue` and of a replicated lock, for the lab: its
 * fingerprints and its invariants read it.  Nothing else looks into it.
 */
#ifndef BWL_PROTOCOL_STATE_H
#define BWL_PROTOCOL_STATE_H

#include "core/one_request.h"
#include "protocol/queue_time.h"
#include "protocol/store/redis.h"

/* The states of `redisson` and `symfony` begin in the same way. */
typedef struct bwl_token_state {
    bwl_verb verb;  /* the command */
    uint32_t asked; /* the tag of the request in flight; 0: none */
    uint32_t last_tag;
    bwl_ms   until; /* what a yes is worth: counted from the first request for this */
} bwl_token_state;

/* Of the phases in queue.c: the first one, and the one that reads `seen`. */
enum { BWL_QUEUE_IDLE = 1, BWL_QUEUE_QUEUED = 4 };

typedef struct bwl_queue_state {
    uint32_t          phase; /* of queue.c */
    bool              may_wait;
    bool              was_held;  /* with this token: it is in no queue any more */
    bool              is_synced; /* nothing is told of a claim before it is confirmed */
    bwl_one_request   asking;
    uint32_t          unconfirmed; /* a confirmation that gave way to an extension: its no counts */
    bwl_ms            sent_at;     /* the request in flight, or the last one */
    bwl_ms            lease_ms;    /* of the latest command: an earlier one may arrive later */
    bwl_ms            provisional_ttl_ms; /* that a push of this token gives */
    uint64_t          fence;              /* the highest one received with this token */
    uint64_t          ticket; /* the place in the queue, kept over attempts; 0: none yet */
    bwl_clock_sample  seen;   /* QUEUED: of the server's clock */
    bool              owes;   /* the lock may be in the name of the former token */
    uint32_t          next;   /* FREEING: the phase that follows the answer */
    bwl_redis_command next_command;
} bwl_queue_state;

enum { BWL_SYNCED_INNER_MAX = 96, BWL_SYNCED_TAG = 1 << 28 /* in no tag of the inner protocol */ };

typedef struct bwl_synced_state {
    _Alignas(8) unsigned char inner[BWL_SYNCED_INNER_MAX]; /* first */
    uint32_t asked; /* the tag of the request to the replicas in flight; 0: none */
    uint32_t count; /* of these requests */
    bwl_ms   until; /* the result of the inner protocol that nobody has been told yet */
    uint64_t fence;
    bwl_ms   asked_at;
    bwl_ms   ask_until;
    bwl_verb verb;
} bwl_synced_state;

#endif
