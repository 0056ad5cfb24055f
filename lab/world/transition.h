/*
 * transition.h -- the steps by which one world becomes another.
 */
#ifndef BWL_LAB_WORLD_TRANSITION_H
#define BWL_LAB_WORLD_TRANSITION_H

#include "core/core.h"

typedef enum bwl_transition_kind {
    BWL_TRANSITION_SERVE = 1, /* the server carries out the client's next question; which: an answer
                             that it gives instead, or 0 */
    BWL_TRANSITION_SERVE_LATE, /* ... one that nobody waits for any more; which: its place */
    BWL_TRANSITION_DELIVER,    /* the client hears the next answer */
    BWL_TRANSITION_ALARM,
    BWL_TRANSITION_START,
    BWL_TRANSITION_RELEASE,
    BWL_TRANSITION_EXTEND,
    BWL_TRANSITION_CANCEL,
    BWL_TRANSITION_PASS,  /* time, until the next instant of interest; which: 1: just before it */
    BWL_TRANSITION_BREAK, /* the connection; which: how many questions had not been written */
    BWL_TRANSITION_STOP_WAITING, /* for an answer, and keep the connection: a mutation */
    BWL_TRANSITION_CRASH,
    BWL_TRANSITION_RESTART,
    BWL_TRANSITION_JUMP,
    BWL_TRANSITION_SAVE, /* the server saves what it has; no fault by itself */
    BWL_TRANSITION_RESTORE,
    BWL_TRANSITION_FAILOVER,
    BWL_TRANSITION_EVICT,
    BWL_TRANSITION_STRANGER,
    BWL_TRANSITION_STEP_WALL, /* a client's time of day */
    BWL_TRANSITION_WRITE,     /* a client writes to what the lock protects */
    BWL_TRANSITION_RATE,      /* from now on, a client's clock runs at another rate */
    BWL_TRANSITION_LEARN, /* a client connects again, and learns that the server was started anew */
    BWL_TRANSITION_LOSE_PUSH,
    BWL_TRANSITION_CLOSE,     /* the server learns that a client's connection has ended */
    BWL_TRANSITION_BORROW,    /* another program takes the free lock */
    BWL_TRANSITION_GIVE_BACK, /* ... and deletes its key */
    BWL_TRANSITION_SILENCE,   /* the first in line counts as dead */
    BWL_TRANSITION_YIELD,
    BWL_TRANSITION_HALT, /* the server carries nothing out */
    BWL_TRANSITION_GO_ON,
    BWL_TRANSITION_TIME_OUT, /* an answer is late: the engine breaks the connection */
} bwl_transition_kind;

typedef struct bwl_transition {
    uint8_t kind; /* a bwl_transition_kind */
    uint8_t client;
    uint8_t which;
    uint8_t server : 4;
    uint8_t chance : 4; /* the random bits that come with the event */
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
