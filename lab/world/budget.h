/*
 * budget.h -- which faults may happen in a world, and how often.
 *
 * Faults are budgets.  SLOW pays for time that passes while a step is due: without it the world is
 * synchronous, with ANY delays are unbounded.  The smallest budget that breaks an invariant is what
 * the protocol assumes.
 */
#pragma once

#include <stdbool.h>

/* X(NAME, in which worlds, label, what it pays for); ONE_SERVER: only where there is one. */
#define BWL_BUDGETS(X)                                                                             \
    X(SLOW, SERVERS, "slow", "time passes although a message or an alarm is due")                  \
    X(LOSS, SERVERS, "loss", "a connection breaks; the server may still execute what was written") \
    X(CRASH, SERVERS, "crash", "a client crashes and loses its state")                             \
    X(DENIAL, SERVERS, "denial", "the server answers with a temporary error")                      \
    X(REFUSAL, SERVERS, "refusal", "the server answers with a permanent error")                    \
    X(RESTART, SERVERS, "restart", "a server restarts empty")                                      \
    X(JUMP, SERVERS, "jump", "a server's clock steps")                                             \
    X(CANCEL, SERVERS, "cancel", "no fault: the caller cancels")                                   \
    X(EXTEND_BY_CALLER, SERVERS, "extend", "no fault: the caller extends")                         \
    X(RESTORE, ONE_SERVER, "restore", "the server restarts from an older snapshot")                \
    X(FAILOVER, ONE_SERVER, "failover", "a replica without the last write takes over")             \
    X(EVICTION, ONE_SERVER, "eviction", "the server evicts the key")                               \
    X(STRANGER, ONE_SERVER, "stranger", "another program sets the key to a foreign value")         \
    X(WALL, ONE_SERVER, "wall", "a client's wall clock steps")                                     \
    X(WRITE, ONE_SERVER, "write", "no fault: a holder writes to the protected resource")           \
    X(RATE, SERVERS, "rate", "a client's clock runs at a wrong rate from then on")                 \
    X(LOST_PUSH, ONE_SERVER, "push-loss", "the push that grants the lock to a waiter is lost")     \
    X(NOSCRIPT, ONE_SERVER, "noscript", "the server has lost its script cache")                    \
    X(BORROWER, ONE_SERVER, "borrower", "another program takes the free lock and gives it back")   \
    X(SILENCE, ONE_SERVER, "silence", "the first waiter is skipped as if it were dead")            \
    X(YIELD, ONE_SERVER, "yield",                                                                  \
      "no fault: the holder gives the lock to the first waiter and waits again")                   \
    X(STOP, SERVERS, "stop", "a server stops and continues later")

typedef enum bwl_budget {
    BWL_BUDGET_NONE = 0,
#define X(name, worlds, label, sentence) BWL_##name,
    BWL_BUDGETS(X)
#undef X
        BWL_BUDGETS_COUNT
} bwl_budget;

enum { BWL_ANY = 255 };

const char *bwl_budget_label(bwl_budget budget);
const char *bwl_budget_sentence(bwl_budget budget);

/* True if a world with several servers cannot have this budget. */
bool bwl_budget_wants_one_server(bwl_budget budget);
