/*
 * transition.h -- the transitions from one world to the next.
 */
#ifndef BWL_LAB_WORLD_TRANSITION_H
#define BWL_LAB_WORLD_TRANSITION_H

#include "core/core.h"

typedef enum bwl_transition_kind {
    /* The server executes the client's next command; which: an error to answer instead, or 0. */
    BWL_TRANSITION_SERVE = 1,
    BWL_TRANSITION_SERVE_LATE, /* ... a late one; which: its index */
    BWL_TRANSITION_DELIVER,    /* the client hears the next answer */
    BWL_TRANSITION_ALARM,
    BWL_TRANSITION_START,
    BWL_TRANSITION_RELEASE,
    BWL_TRANSITION_EXTEND,
    BWL_TRANSITION_CANCEL,
    BWL_TRANSITION_PASS,         /* time, to the next instant; which: 1: to just before it */
    BWL_TRANSITION_BREAK,        /* the connection; which: how many commands are unsent */
    BWL_TRANSITION_STOP_WAITING, /* a mutation: keeps the connection */
    BWL_TRANSITION_CRASH,
    BWL_TRANSITION_RESTART,
    BWL_TRANSITION_JUMP,
    BWL_TRANSITION_SAVE, /* the server saves its data; no fault */
    BWL_TRANSITION_RESTORE,
    BWL_TRANSITION_FAILOVER,
    BWL_TRANSITION_EVICT,
    BWL_TRANSITION_STRANGER,
    BWL_TRANSITION_STEP_WALL, /* a client's wall clock */
    BWL_TRANSITION_WRITE,     /* a client writes to what the lock protects */
    BWL_TRANSITION_RATE,      /* a client's clock changes its rate */
    BWL_TRANSITION_LEARN,     /* a client reconnects and sees the restart */
    BWL_TRANSITION_LOSE_PUSH,
    BWL_TRANSITION_CLOSE,     /* the server closes a client's old connection */
    BWL_TRANSITION_BORROW,    /* another program takes the free lock */
    BWL_TRANSITION_GIVE_BACK, /* ... and deletes its key */
    BWL_TRANSITION_SILENCE,   /* the first waiter counts as dead */
    BWL_TRANSITION_YIELD,
    BWL_TRANSITION_HALT, /* the server carries nothing out */
    BWL_TRANSITION_GO_ON,
    BWL_TRANSITION_TIME_OUT, /* the engine breaks a connection with a late answer */
} bwl_transition_kind;

typedef struct bwl_transition {
    uint8_t kind; /* a bwl_transition_kind */
    uint8_t client;
    uint8_t which;
    uint8_t server : 4;
    uint8_t chance : 4; /* the random bits of the event */
} bwl_transition;

/* SERVE: the server does not know the script. */
enum { BWL_WHICH_NOSCRIPT = 7 };

enum { BWL_TRANSITIONS_MAX = 96 };

typedef struct bwl_transitions {
    unsigned       count;
    bwl_transition list[BWL_TRANSITIONS_MAX];
} bwl_transitions;

static inline void bwl_transitions_add(bwl_transitions *transitions, bwl_transition_kind kind,
                                       unsigned client, unsigned which)
{
    assert(transitions->count < BWL_TRANSITIONS_MAX);
    transitions->list[transitions->count++] = (bwl_transition){
        .kind   = (uint8_t)kind,
        .client = (uint8_t)client,
        .which  = (uint8_t)which,
    };
}

#endif
