/*
 * budget.h -- what may go wrong in a world, each a number of times; and how little of it is enough.
 *
 * Faults are budgets.  SLOW pays for time that passes while somebody has something to do: with none
 * of it the world is synchronous, with ANY of it nothing is known about how long things take.  The
 * smallest budget that breaks an invariant is what the protocol assumes.
 */
#ifndef BWL_LAB_WORLD_BUDGET_H
#define BWL_LAB_WORLD_BUDGET_H

#include <stdbool.h>

/* X(NAME, what `bowline-lab` calls it, what it pays for) */
#define BWL_BUDGETS(X)                                                                            \
    X(SLOW, "slow", "time passes although a message or an alarm is due")                          \
    X(LOSS, "loss", "a connection breaks; what was written may still be carried out later")       \
    X(CRASH, "crash", "a client is gone, with all it knew")                                       \
    X(DENIAL, "denial", "the server answers that it cannot now")                                  \
    X(REFUSAL, "refusal", "the server answers that it will not")                                  \
    X(RESTART, "restart", "the server comes back empty")                                          \
    X(JUMP, "jump", "the server's clock steps")                                                   \
    X(CANCEL, "cancel", "no fault: the caller cancels")                                           \
    X(EXTEND_BY_CALLER, "extend", "no fault: the caller extends")                                 \
    X(RESTORE, "restore", "the server comes back with what it had saved at some earlier time")    \
    X(FAILOVER, "failover", "another server takes over, which has not heard of the last change")  \
    X(EVICTION, "eviction", "the server needs room, and throws the key away")                     \
    X(STRANGER, "stranger", "another program sets the key, to a value that is none of ours")      \
    X(WALL, "wall", "a client's time of day steps")                                               \
    X(WRITE, "write", "no fault: who holds the lock writes to what it protects")                  \
    X(RATE, "rate", "a client's clock runs too slow, or too fast, from then on")                  \
    X(LOST_PUSH, "push-loss", "what tells a waiter that it is its turn is lost")                  \
    X(NOSCRIPT, "noscript", "the server has forgotten its scripts")                               \
    X(BORROWER, "borrower", "another program takes the lock while it is free, and gives it back") \
    X(SILENCE, "silence", "who waits first is passed over, as if it were dead")                   \
    X(YIELD, "yield", "no fault: who has the lock gives it to who waits, and waits itself")       \
    X(STOP, "stop", "a server stops, and goes on later: time passes for all others")

typedef enum bwl_budget {
    BWL_BUDGET_NONE = 0,
#define X(name, label, sentence) BWL_##name,
    BWL_BUDGETS(X)
#undef X
        BWL_BUDGETS_COUNT
} bwl_budget;

enum { BWL_ANY = 255 };

const char *bwl_budget_label(bwl_budget budget);
const char *bwl_budget_sentence(bwl_budget budget);

/* True for what is about one server, or the order of holders: no world with several has it. */
bool bwl_budget_wants_one_server(bwl_budget budget);

#endif
