/*
 * transition.h -- the transitions from one world to the next.
 */
#pragma once

#include "core/core.h"

/* X(NAME, name in files, budget that pays; SERVE and PASS: see transition.c) */
#define BWL_TRANSITIONS(X)                                                                    \
    X(SERVE, "serve", BUDGET_NONE)           /* which: an error as the answer, or 0 */        \
    X(SERVE_LATE, "serve-late", BUDGET_NONE) /* ... a late one; which: its index */           \
    X(DELIVER, "deliver", BUDGET_NONE)       /* the client gets the next answer */            \
    X(ALARM, "alarm", BUDGET_NONE)                                                            \
    X(START, "start", BUDGET_NONE)                                                            \
    X(RELEASE, "release", BUDGET_NONE)                                                        \
    X(EXTEND, "extend", EXTEND_BY_CALLER)                                                     \
    X(CANCEL, "cancel", CANCEL)                                                               \
    X(PASS, "pass", BUDGET_NONE) /* time, to the next instant; which: 1: to just before it */ \
    X(BREAK, "break", LOSS)      /* the connection; which: how many commands are unsent */    \
    X(STOP_WAITING, "stop-waiting", LOSS) /* a mutation: keeps the connection */              \
    X(CRASH, "crash", CRASH)                                                                  \
    X(RESTART, "restart", RESTART)                                                            \
    X(JUMP, "jump", JUMP)                                                                     \
    X(SAVE, "save", BUDGET_NONE) /* the server saves its data; no fault */                    \
    X(RESTORE, "restore", RESTORE)                                                            \
    X(FAILOVER, "failover", FAILOVER)                                                         \
    X(EVICT, "evict", EVICTION)                                                               \
    X(STRANGER, "stranger", STRANGER)                                                         \
    X(STEP_WALL, "step-wall", WALL) /* a client's wall clock */                               \
    X(WRITE, "write", WRITE)        /* a client writes to what the lock protects */           \
    X(RATE, "rate", RATE)           /* a client's clock changes its rate */                   \
    X(LEARN, "learn", BUDGET_NONE)  /* a client reconnects and sees the restart */            \
    X(LOSE_PUSH, "lose-push", LOST_PUSH)                                                      \
    X(CLOSE, "close", BUDGET_NONE)         /* the server closes a client's old connection */  \
    X(BORROW, "borrow", BORROWER)          /* another program takes the free lock */          \
    X(GIVE_BACK, "give-back", BUDGET_NONE) /* ... and deletes its key */                      \
    X(SILENCE, "silence", SILENCE)         /* the first waiter counts as dead */              \
    X(YIELD, "yield", YIELD)                                                                  \
    X(HALT, "halt", STOP) /* the server stops */                                              \
    X(GO_ON, "go-on", BUDGET_NONE)                                                            \
    X(TIME_OUT, "time-out", BUDGET_NONE) /* a late answer: the engine breaks the connection */

enum {
    BWL_TRANSITION_NUMBER_0,
#define X(name, text, budget) BWL_TRANSITION_NUMBER_##name,
    BWL_TRANSITIONS(X)
#undef X
        BWL_TRANSITIONS_END
};

typedef enum bwl_transition_kind {
#define X(name, text, budget) BWL_TRANSITION_##name = BWL_TRANSITION_NUMBER_##name,
    BWL_TRANSITIONS(X)
#undef X
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
