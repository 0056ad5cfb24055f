/*
 * transition.h -- the transitions from one world to the next.
 */
#pragma once

#include "core/core.h"

/* X(NAME, name in files, budget that pays (SERVE and PASS: see transition.c), who acts, words).
 *
 * SERVE: the server executes the next command; which: an error to answer instead, or 0.
 * SERVE_LATE: a late one; which: its index.  DELIVER: the client gets the next answer.
 * PASS: time, to the next instant; which: 1: to just before it.
 * BREAK: the connection; which: how many commands are unsent.  STOP_WAITING: a mutation: keeps it.
 * EVICT: which: the key.  CLOSE: the server closes a client's old connection.
 * TIME_OUT: a late answer: the engine breaks the connection. */
#define BWL_TRANSITIONS(X)                                                                   \
    X(SERVE, "serve", BUDGET_NONE, OTHER, NULL)                                              \
    X(SERVE_LATE, "serve-late", BUDGET_NONE, OTHER, NULL)                                    \
    X(DELIVER, "deliver", BUDGET_NONE, OTHER, NULL)                                          \
    X(ALARM, "alarm", BUDGET_NONE, CLIENT, "alarm")                                          \
    X(START, "start", BUDGET_NONE, CLIENT, "acquire")                                        \
    X(RELEASE, "release", BUDGET_NONE, CLIENT, "release")                                    \
    X(EXTEND, "extend", EXTEND_BY_CALLER, CLIENT, "extend")                                  \
    X(CANCEL, "cancel", CANCEL, CLIENT, "cancel")                                            \
    X(PASS, "pass", BUDGET_NONE, OTHER, NULL)                                                \
    X(BREAK, "break", LOSS, CLIENT_FAULT, "connection breaks")                               \
    X(STOP_WAITING, "stop-waiting", LOSS, CLIENT_FAULT, "waits no longer")                   \
    X(CRASH, "crash", CRASH, CLIENT_FAULT, "CRASHES")                                        \
    X(RESTART, "restart", RESTART, SERVER_FAULT, "RESTARTS, empty")                          \
    X(JUMP, "jump", JUMP, SERVER_FAULT, "its CLOCK STEPS")                                   \
    X(SAVE, "save", BUDGET_NONE, SERVER, "saves")                                            \
    X(RESTORE, "restore", RESTORE, SERVER_FAULT, "RESTARTS with what it saved")              \
    X(FAILOVER, "failover", FAILOVER, SERVER_FAULT, "ANOTHER takes over, one change behind") \
    X(EVICT, "evict", EVICTION, SERVER_FAULT, NULL)                                          \
    X(FOREIGN_LOCK, "foreign", FOREIGN_LOCK, SERVER_FAULT, "ANOTHER PROGRAM sets the key")   \
    X(STEP_WALL, "step-wall", WALL, CLIENT_FAULT, "its TIME OF DAY steps")                   \
    X(WRITE, "write", WRITE, CLIENT, "writes")                                               \
    X(RATE, "rate", RATE, CLIENT_FAULT, NULL)                                                \
    X(LEARN, "learn", BUDGET_NONE, CLIENT, "learns of the restart")                          \
    X(LOSE_PUSH, "lose-push", LOST_PUSH, CLIENT_FAULT, "loses the push")                     \
    X(CLOSE, "close", BUDGET_NONE, SERVER, NULL)                                             \
    X(BORROW, "borrow", BORROWER, SERVER_FAULT, "a BORROWER takes the key")                  \
    X(GIVE_BACK, "give-back", BUDGET_NONE, SERVER, "the borrower deletes its key")           \
    X(SILENCE, "silence", SILENCE, SERVER_FAULT, "takes the FIRST IN THE QUEUE FOR DEAD")    \
    X(YIELD, "yield", YIELD, CLIENT, "yield")                                                \
    X(DOWNGRADE, "downgrade", DOWNGRADE_BY_CALLER, CLIENT, "downgrade")                      \
    X(UPGRADE, "upgrade", UPGRADE_BY_CALLER, CLIENT, "upgrade")                              \
    X(HALT, "halt", STOP, SERVER_FAULT, "STOPS")                                             \
    X(GO_ON, "go-on", BUDGET_NONE, SERVER, "goes on")                                        \
    X(TIME_OUT, "time-out", BUDGET_NONE, CLIENT_FAULT, "waits no longer: connection breaks")

typedef enum bwl_transition_kind {
    BWL_TRANSITION_NONE = 0,
#define X(name, text, budget, actor, words) BWL_TRANSITION_##name,
    BWL_TRANSITIONS(X)
#undef X
        BWL_TRANSITIONS_END
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
