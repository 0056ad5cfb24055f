/*
 * server.h -- a server of a world, the messages between it and the clients, and what a lock with a
 * queue adds.
 */
#pragma once

#include "lab/model/redis.h"
#include "lab/world/scenario.h"
#include "protocol/store/queue.h"
#include "protocol/store/redis.h"

enum { BWL_MESSAGES_MAX = 8, BWL_PLACES_MAX = 16, BWL_UNWANTED_MAX = 4 };

typedef enum bwl_message_kind {
    BWL_MESSAGE_REQUEST = 1,
    BWL_MESSAGE_ANSWER,
    BWL_MESSAGE_CUT_OFF, /* the connection broke: the engine reports DOWN */
    BWL_MESSAGE_PUSH,    /* a grant to a waiter, without a command */
} bwl_message_kind;

typedef struct bwl_message {
    uint8_t  kind;       /* a bwl_message_kind */
    uint8_t  command;    /* a bwl_redis_command */
    uint8_t  answer;     /* ANSWER: a bwl_answer */
    uint8_t  connection; /* late: messages of one connection stay in order */
    uint8_t  round;      /* of the client that sent it */
    bool     has_result; /* the client has a result for this command */
    bool     acquires;   /* the client was acquiring */
    bool     is_mine;    /* ANSWER: the value is the client's own */
    uint8_t  step;       /* STEP: the operation */
    uint8_t  reply_kind; /* STEP, ANSWER: a bwl_reply_kind */
    uint16_t token;
    uint16_t previous_token; /* REQUEUE: the previous token; 0: none */
    uint8_t  queue_status;   /* ANSWER, PUSH: index + 1 in w->waiting.places; 0: none */
    uint8_t  push_channel;   /* the push channel of the waiter */
    uint32_t tag;
    int32_t  lease_ms;
    uint16_t asked_ms;           /* REQUEST: since the beginning */
    uint16_t provisional_ttl_ms; /* of the waiter */
    uint8_t  old_channels[2];    /* older push channels under which it may be queued; 0: none */
    int64_t  timestamp; /* REQUEST: the value to write; ANSWER: the value or number returned */
} bwl_message;

/* A client's connection to a server: its messages in order, the first `answered` of them executed;
 * and the late messages of earlier connections. */
typedef struct bwl_link {
    uint8_t     count;
    uint8_t     answered;
    uint8_t     late_count;
    bwl_message messages[BWL_MESSAGES_MAX];
    bwl_message late[BWL_MESSAGES_MAX];
} bwl_link;

/* A server with its links to the clients. */
typedef struct bwl_server {
    bwl_model_redis redis;
    bool            key_excused; /* TAKEN_BACK: no client could have removed this key */
    bool            key_late;    /* ... because a late command has set it */
    uint8_t
         informed;   /* flags 1 << client: its connection wrote since the last change, or made it */
    bool is_stopped; /* it executes nothing */
    bool was_faulty; /* it restarted, stepped, stopped or returned an error */
    int32_t  young_for; /* hundredths of its ms without a vote after its start */
    bwl_link links[BWL_CLIENTS_MAX];
} bwl_server;

typedef struct bwl_lab_waiter {
    uint8_t push_channel;  /* of the current connection, from 1 */
    bool    is_connected;  /* the server knows it */
    bool    may_kill;      /* the server knows the previous one */
    bool    was_cut;       /* its connection or its entry was lost in this round */
    uint8_t orphans;       /* how many grants without a receiver are allowed */
    uint8_t maybe_orphans; /* ... until the server closes the old connection */
    uint8_t
        old_channels[2]; /* the latest channel known to the server, and the latest sent; 0: none */
    uint16_t named_token;
    uint16_t named_claim_ms;
    uint32_t latest_tag;
    uint64_t ticket; /* its ticket in this round; 0: none */

    /* Of its tokens that share the lock. */
    bool     shares_loosely; /* one of them may have had no receiver from the beginning */
    uint16_t unwanted[BWL_UNWANTED_MAX]; /* those that it does not want; 0: none */
} bwl_lab_waiter;

typedef struct bwl_lab_waiting {
    bwl_queue_status places[BWL_PLACES_MAX];
    bwl_lab_waiter   waiters[BWL_CLIENTS_MAX];
    int64_t          fence;                       /* the highest that the server returned */
    uint64_t         held_fence;                  /* the highest that a caller got */
    bool             held_alone;                  /* ... for itself */
    int64_t          granted_at[BWL_CLIENTS_MAX]; /* by the server's clock; with a period only */
    int64_t          period_began;                /* the grant of the last one who began; 0: none */
    uint16_t         owner;                       /* the owner of the lock */
    bool             is_orphan;                   /* no client wants it */
    bool             may_be_orphan;
} bwl_lab_waiting;
