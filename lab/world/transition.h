/*
 * transition.h -- the transitions from one world to the next.
 */
#pragma once

#include "core/core.h"

/* X(NAME, name in files, budget that pays (SERVE and PASS: see transition.c), who acts) */
#define BWL_TRANSITIONS(X)                                                                        \
    X(SERVE, "serve", BUDGET_NONE, OTHER)           /* which: an error to answer instead, or 0 */ \
    X(SERVE_LATE, "serve-late", BUDGET_NONE, OTHER) /* ... a late one; which: its index */        \
    X(DELIVER, "deliver", BUDGET_NONE, OTHER)       /* the client hears the next answer */        \
    X(ALARM, "alarm", BUDGET_NONE, CLIENT)                                                        \
    X(START, "start", BUDGET_NONE, CLIENT)                                                        \
    X(RELEASE, "release", BUDGET_NONE, CLIENT)                                                    \
    X(EXTEND, "extend", EXTEND_BY_CALLER, CLIENT)                                                 \
    X(CANCEL, "cancel", CANCEL, CLIENT)                                                           \
    X(PASS, "pass", BUDGET_NONE,                                                                  \
      OTHER) /* time, to the next instant; which: 1: to just before it */                         \
    X(BREAK, "break", LOSS,                                                                       \
      CLIENT_FAULT) /* the connection; which: how many commands are unsent */                     \
    X(STOP_WAITING, "stop-waiting", LOSS, CLIENT_FAULT) /* a mutation: keeps the connection */    \
    X(CRASH, "crash", CRASH, CLIENT_FAULT)                                                        \
    X(RESTART, "restart", RESTART, SERVER_FAULT)                                                  \
    X(JUMP, "jump", JUMP, SERVER_FAULT)                                                           \
    X(SAVE, "save", BUDGET_NONE, SERVER) /* the server saves its data; no fault */                \
    X(RESTORE, "restore", RESTORE, SERVER_FAULT)                                                  \
    X(FAILOVER, "failover", FAILOVER, SERVER_FAULT)                                               \
    X(EVICT, "evict", EVICTION, SERVER_FAULT)                                                     \
    X(STRANGER, "stranger", STRANGER, SERVER_FAULT)                                               \
    X(STEP_WALL, "step-wall", WALL, CLIENT_FAULT) /* a client's wall clock */                     \
    X(WRITE, "write", WRITE, CLIENT)              /* a client writes to what the lock protects */ \
    X(RATE, "rate", RATE, CLIENT_FAULT)           /* a client's clock changes its rate */         \
    X(LEARN, "learn", BUDGET_NONE, CLIENT)        /* a client reconnects and sees the restart */  \
    X(LOSE_PUSH, "lose-push", LOST_PUSH, CLIENT_FAULT)                                            \
    X(CLOSE, "close", BUDGET_NONE, SERVER)      /* the server closes a client's old connection */ \
    X(BORROW, "borrow", BORROWER, SERVER_FAULT) /* another program takes the free lock */         \
    X(GIVE_BACK, "give-back", BUDGET_NONE, SERVER) /* ... and deletes its key */                  \
    X(SILENCE, "silence", SILENCE, SERVER_FAULT)   /* the first waiter counts as dead */          \
    X(YIELD, "yield", YIELD, CLIENT)                                                              \
    X(HALT, "halt", STOP, SERVER_FAULT) /* the server stops */                                    \
    X(GO_ON, "go-on", BUDGET_NONE, SERVER)                                                        \
    X(TIME_OUT, "time-out", BUDGET_NONE,                                                          \
      CLIENT_FAULT) /* a late answer: the engine breaks the connection */

enum {
    BWL_TRANSITION_NUMBER_0,
#define X(name, text, budget, actor) BWL_TRANSITION_NUMBER_##name,
    BWL_TRANSITIONS(X)
#undef X
        BWL_TRANSITIONS_END
};

typedef enum bwl_transition_kind {
#define X(name, text, budget, actor) BWL_TRANSITION_##name = BWL_TRANSITION_NUMBER_##name,
    BWL_TRANSITIONS(X)
#undef X
} bwl_transition_kind;

/* Who acts, for a report; FAULT: it is shown as a fault. */
typedef enum bwl_actor {
    BWL_ACTOR_OTHER, /* a message, or time */
    BWL_ACTOR_CLIENT,
    BWL_ACTOR_CLIENT_FAULT,
    BWL_ACTOR_SERVER,
    BWL_ACTOR_SERVER_FAULT,
} bwl_actor;

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
