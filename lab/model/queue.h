/*
 * queue.h -- the commands of src/protocol/store/queue.h, executed by the model server.
 *
 * Each executes the commands of its script on five keys: L is the key of the lock, Q a sorted set
 * of members, B a hash of tokens, F a number, H a sorted set of those who share the lock.  A member
 * is a number that encodes the fields of its text.
 */
#pragma once

#include "lab/model/words.h"
#include "protocol/store/queue.h"

enum {
    BWL_MODEL_QUEUE        = 1, /* Q */
    BWL_MODEL_HEARTBEATS   = 2, /* B */
    BWL_MODEL_COUNT        = 3, /* F */
    BWL_MODEL_SHARERS      = 4, /* H */
    BWL_MODEL_GRANTS_MAX   = 8, /* pushes per command */
    BWL_MODEL_SERVE_MAX    = 64,
    BWL_MODEL_CHANNELS_MAX = 15,   /* 0: none */
    BWL_MODEL_CLAIM_MAX    = 4095, /* milliseconds */
    /* ms: a JOIN behind others renews Q and B if B has less left */
    BWL_MODEL_JOIN_RENEWS_BELOW_MS = 40000,
};

/* The entry of a waiter in the queue. */
typedef struct bwl_member {
    uint16_t token;
    uint16_t provisional_ttl_ms;
    uint8_t  push_channel; /* the number of its client's connection */
} bwl_member;

static inline uint32_t bwl_member_number(bwl_member m)
{
    assert(m.push_channel <= BWL_MODEL_CHANNELS_MAX);
    assert(m.provisional_ttl_ms <= BWL_MODEL_CLAIM_MAX);
    return m.token | (uint32_t)m.push_channel << 16 | (uint32_t)m.provisional_ttl_ms << 20;
}

static inline bwl_member bwl_member_of(uint32_t number)
{
    return (bwl_member){
        .token              = (uint16_t)(number & 0xffff),
        .push_channel       = (uint8_t)(number >> 16 & 15),
        .provisional_ttl_ms = (uint16_t)(number >> 20),
    };
}

typedef struct bwl_model_queue_args {
    bwl_redis_command command;
    uint16_t          token;
    bwl_ms            lease_ms;
    int64_t           ticket; /* JOIN: its earlier ticket; 0: none.  HEARTBEAT: its ticket; 0: renew
                               * the TTL of Q and B.  REST: what is left of it.  SHARE_EXTEND:
                               * the fence */
    bwl_member        member; /* JOIN, HEARTBEAT: its new entry */
    uint8_t           old_channels[2]; /* HEARTBEAT, CANCEL: its older push channels; 0: none */
    uint16_t          previous_token;  /* REQUEUE: the token of the owner; SHARE_UPGRADE: the new */
    bwl_ms            dead_ms;         /* a waiter that is silent for longer is skipped; 0: none */
    bwl_ms            keep_ms;         /* TTL of Q and B; 0: none */
    unsigned          serve_max;       /* most waiters skipped per command */
    unsigned          queue_max;       /* JOIN without a ticket: limit of waiters; 0: none */
    const bwl_share  *shares;          /* how the tokens of each client share; NULL: none does */
    bool              is_old;          /* an earlier version, whose scripts do not know H */
} bwl_model_queue_args;

/* A grant that is pushed to an open connection, or to one that only the server sees as open. */
typedef struct bwl_grant {
    uint8_t  connection;
    uint16_t token;
    int64_t  fence;
    int64_t  server_us;
} bwl_grant;

typedef struct bwl_grants {
    unsigned  count;
    bwl_grant list[BWL_MODEL_GRANTS_MAX];
} bwl_grants;

typedef struct bwl_queue_reply {
    bwl_answer       answer;
    int64_t          fence; /* 0: none */
    bwl_queue_status queue_status;
    bwl_grants       grants;
    unsigned         silent_count; /* waiters skipped as dead */
    uint16_t         silent[BWL_MODEL_ITEMS];
} bwl_queue_reply;

/* Executes a command.  `mutations`: flags of bwl_mutation. */
bwl_queue_reply bwl_model_queue_reply(bwl_model_redis *r, const bwl_model_queue_args *q,
                                      unsigned mutations);

/* A release by a script that pushes a grant and then fails before it writes it. */
bwl_grants bwl_model_queue_tell_only(bwl_model_redis *r, const bwl_model_queue_args *q);

/* The first command of a connection: sets F if it is missing or behind the clock. */
void bwl_model_queue_fence_minimum(bwl_model_redis *r);

/* Subscribes the connection to this push channel; 0: to none. */
void bwl_model_queue_subscribe(bwl_model_redis *r, unsigned connection, uint8_t push_channel);

/* The member after `last`, or the first; NULL: none.  The order is that of tickets; for equal
 * tickets, that of the texts. */
const bwl_model_item *bwl_model_queue_next(const bwl_model_data *data, const bwl_model_item *last);

/* ---- a lock that clients share --------------------------------------------------------------- */

/* The fence of the gate that L is; 0: it is none. */
int64_t bwl_model_gate(const bwl_model_data *data);

/* Under a gate, the first member of H for the token; its value is the time at which it ends.  NULL:
 * it does not share the lock. */
const bwl_model_item *bwl_model_share(const bwl_model_data *data, uint16_t token);

/* True if the token has the lock, alone or with others. */
bool bwl_model_holds(const bwl_model_data *data, uint16_t token);

/* The greatest end in H, in milliseconds of the server's clock; 0: H is empty. */
bwl_ms bwl_model_gate_ends(const bwl_model_data *data);

/* True if the last heartbeat of the waiter is too old. */
bool bwl_model_queue_is_dead(const bwl_model_redis *r, const bwl_model_queue_args *q,
                             uint16_t token);

/* False if the lock is free or shared, and its first waiter fits, or is dead. */
bool bwl_model_queue_is_served(const bwl_model_redis *r, const bwl_model_queue_args *q);

/* The server's TIME in microseconds. */
int64_t bwl_model_us(const bwl_model_redis *r);
