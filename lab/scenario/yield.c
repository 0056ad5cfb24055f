/*
 * yield.c -- a holder gives the lock to the first waiter, and waits for it again.  See table.h.
 */
#include "lab/mutant/queue.h"
#include "lab/scenario/tables.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"

static const bwl_scenario table[] = {
    ROW("yield-calm", "the holder yields, and joins the queue behind the waiters", OF_QUEUE,
        YIELD(2)),
    ROW("yield-slow", "... and everything is late", OF_QUEUE, SLOW(2), YIELD(2)),
    ROW("yield-rounds", "... in two rounds", OF_QUEUE, .rounds = 2, SLOW(1), YIELD(2)),
    ROW("yield-cancel", "... and cancels", OF_QUEUE, SLOW(1), YIELD(1), CANCEL(2)),
    ROW("yield-extend", "... while an extension is under way", OF_QUEUE, SLOW(1), YIELD(2),
        EXTEND_BY_CALLER(1)),
    ROW("yield-push", "... and a push is lost", OF_QUEUE, SLOW(1), YIELD(2), LOST_PUSH(1),
        CANCEL(1)),
    ROW("yield-loss", "... and a connection breaks, whose messages may come late", OF_QUEUE,
        SLOW(1), YIELD(1), LOSS(1)),
    ROW("yield-loss-never-kills", "... of which the server does not learn", OF_QUEUE,
        .queue.never_kills = true, YIELD(1), LOSS(1)),
    ROW("yield-loss-twice", "... and another", OF_QUEUE, YIELD(1), LOSS(2)),
    ROW("yield-loss-cancel", "... and a caller that cancels", OF_QUEUE, YIELD(1), LOSS(1),
        CANCEL(1)),
    ROW("yield-crash", "... and a client dies", OF_QUEUE, SLOW(1), YIELD(2), CRASH(1)),
    ROW("yield-noscript", "... and the server forgets its scripts", OF_QUEUE, SLOW(1), YIELD(1),
        NOSCRIPT(2), CANCEL(1)),
    ROW("yield-denial", "... and the server cannot, or will not", OF_QUEUE, SLOW(1), YIELD(1),
        DENIAL(1), REFUSAL(1)),
    ROW("yield-silence", "... and a waiter is passed over", OF_QUEUE, SLOW(1), YIELD(2),
        SILENCE(1)),
    ROW("yield-few-at-a-time", "... and one waiter is passed over at a time", OF_QUEUE,
        .queue.serve_max = 1, YIELD(2), CRASH(1), CANCEL(1)),
    ROW("yield-borrower", "... and another program takes what is free", OF_QUEUE, SLOW(1), YIELD(1),
        BORROWER(1)),
    ROW("yield-stranger", "another program overwrites the key", QUEUE_FORGETS, SLOW(1), YIELD(1),
        STRANGER(1)),
    ROW("yield-forgets", "a server restarts empty", QUEUE_FORGETS, .server.has_run_id = true,
        SLOW(1), YIELD(1), RESTART(1)),
    ROW("yield-for-ever", "endless rounds: every call can end", .protocol = &bwl_queue,
        .invariants = INVARIANTS_QUEUE | BWL_INVARIANTS_BACKWARDS, .rounds = BWL_ANY,
        .wait_ms = BWL_NEVER, YIELD(1), LOSS(1)),
    ROW("yield-three", "three clients, and each joins behind the others", OF_QUEUE, .clients = 3,
        YIELD(2)),
    ROW("yield-three-cancel", "... and cancels", OF_QUEUE, .clients = 3, YIELD(1), CANCEL(1)),
    ROW("yield-three-crash", "... and one of them dies", OF_QUEUE, .clients = 3, YIELD(1),
        CRASH(1)),
    ROW("yield-three-push", "... and a push is lost", OF_QUEUE, .clients = 3, YIELD(1),
        LOST_PUSH(1)),
    ROW("yield-token", "without a queue: a release, and an acquire", .protocol = &bwl_token,
        .invariants = BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS, SLOW(1), YIELD(1),
        LOSS(1), CANCEL(1)),
    ROW("yield-mutant", "the former token is not released first",
        .protocol = &bwl_queue_just_yields, YIELD(1), DENIAL(1), BREAKS_ONLY(TAKEN_BACK, 8)),
    ROW("yield-mutant-cancel", "... and the caller cancels, before the server knows the script",
        .protocol = &bwl_queue_just_yields, YIELD(1), NOSCRIPT(1), CANCEL(1),
        BREAKS_ONLY(TAKEN_BACK, 6)),
};

const bwl_scenario_table bwl_scenarios_of_yield = { table, sizeof table / sizeof table[0] };
