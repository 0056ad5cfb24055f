/*
 * server.h -- a server of a world, and the connections of the clients to it: what was asked and
 * answered and has not arrived yet.
 */
#ifndef BWL_LAB_WORLD_SERVER_H
#define BWL_LAB_WORLD_SERVER_H

#include "lab/model/redis.h"
#include "lab/world/scenario.h"

enum { BWL_MESSAGES_MAX = 8 };

typedef enum bwl_message_kind {
    BWL_MESSAGE_QUESTION = 1,
    BWL_MESSAGE_ANSWER,
    BWL_MESSAGE_CUT_OFF, /* the engine will say DOWN */
    BWL_MESSAGE_PUSH,    /* that it is the client's turn: nobody has asked */
} bwl_message_kind;

typedef struct bwl_message {
    uint8_t  kind;       /* a bwl_message_kind */
    uint8_t  word;       /* a bwl_redis_word */
    uint8_t  answer;     /* ANSWER: a bwl_answer */
    uint8_t  connection; /* late: those of one connection stay in order */
    uint8_t  round;      /* of the client that asked */
    bool     is_settled; /* the client has been told something about this question */
    bool     acquires;   /* its client was seeking the lock when it asked */
    bool     is_mine;    /* ANSWER: the value is what the question would have written */
    uint16_t token;
    uint16_t former; /* REQUEUE: the token that gives it on; 0: none */
    uint8_t  place;  /* ANSWER, PUSH: what else it says, in w->waiting.places, from 1; 0: nothing */
    uint8_t  inbox;  /* by which who waits is reached */
    uint32_t tag;
    int32_t  lease_ms;
    uint16_t asked_ms;    /* QUESTION: since the beginning */
    uint16_t claim_ms;    /* of who waits */
    uint8_t  stood_by[2]; /* ... and by which inboxes it may stand in line yet; 0: none */
    int64_t  stamp; /* QUESTION: that it writes; ANSWER: the value, or the number, that it showed */
} bwl_message;

/* A client's connection to a server: its messages, in the order in which they were asked; and
 * those of connections before it, which nobody waits for. */
typedef struct bwl_link {
    uint8_t     count;
    uint8_t     answered;
    uint8_t     late_count;
    bwl_message messages[BWL_MESSAGES_MAX];
    bwl_message late[BWL_MESSAGES_MAX];
} bwl_link;

/* A server, with the connections of the clients to it. */
typedef struct bwl_server {
    bwl_model_redis redis;
    bool     key_excused; /* nobody could have taken this key back: see invariant TAKEN_BACK */
    bool     key_late;    /* ... because it was set by a question from a broken connection */
    uint8_t  informed;    /* where replicas count: flags 1 << client: whose connection has written
                             since the last change, or made it */
    bool     is_stopped;  /* it carries nothing out */
    bool     was_faulty;  /* it has been restarted, stepped, stopped, or has denied */
    int32_t  young_for;   /* hundredths of its ms: it has no vote until it has run for a lease */
    bwl_link links[BWL_CLIENTS_MAX];
} bwl_server;

#endif
