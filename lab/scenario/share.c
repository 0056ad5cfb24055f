/*
 * share.c -- the lock with a queue, shared by clients: readers and writers, permits; with a client
 * of an earlier version, which grants a reader the lock alone.  See table.h.
 *
 * X wants the lock for itself, S shares it with any number, P and D want one and two of two
 * permits.
 */
#include "lab/mutant/mutant.h"
#include "lab/scenario/tables.h"
#include "protocol/queue_lock.h"

#define SHARE_X \
    {           \
        0, 0    \
    }
#define SHARE_S \
    {           \
        1, 0    \
    }
#define SHARE_P \
    {           \
        1, 2    \
    }
#define SHARE_D \
    {           \
        2, 2    \
    }

#define SHARES(A, B)             .queue.share_of = { SHARE_##A, SHARE_##B }
#define SHARES_OF_THREE(A, B, C) .clients = 3, .queue.share_of = { SHARE_##A, SHARE_##B, SHARE_##C }

/* With a lease of 3 s, a provisional grant of 2. */
#define OF_LONG_QUEUE \
    OF_QUEUE, .terms = { .lease_ms = 3000, .answer_ms = 1500 }, .extend_ms = 2000, .wait_ms = 4500

/* Another program writes over a gate: the list of those who share stays until its expiry. */
#define SHARES_FORGET \
    OF(queue), .invariants = INVARIANTS_FORGETS & ~(unsigned)BWL_INVARIANT_CLEAN_END

/* The first client is of an earlier version. */
#define OLD_FIRST .queue.old_of = 1u << 0

static const bwl_scenario table[] = {
    /* ---- what must hold: every invariant, in every state ------------------------------------- */
    ROW("share-two", "a writer and a reader; two rounds", OF_QUEUE, SHARES(X, S), .rounds = 2),
    ROW("share-three", "a writer and two readers; two rounds", OF_QUEUE, SHARES_OF_THREE(X, S, S),
        .rounds = 2),
    ROW("share-loss", "a writer and a reader: a connection breaks, and a caller cancels", OF_QUEUE,
        SHARES(X, S), LOSS(1), CANCEL(1)),
    ROW("share-loss-slow", "... and everything is late", OF_QUEUE, SHARES(X, S), SLOW(1), LOSS(1)),
    ROW("share-loss-late", "... and the old connection is not ended", OF_QUEUE, SHARES(X, S),
        .queue.never_kills = true, LOSS(1), CANCEL(1)),
    ROW("share-push", "a push is lost, a waiter is passed over, a caller cancels", OF_QUEUE,
        SHARES(X, S), SLOW(1), LOST_PUSH(1), SILENCE(1), CANCEL(1)),
    ROW("share-extend", "a caller extends, and everything is late", OF_QUEUE, SHARES(X, S), SLOW(2),
        EXTEND_BY_CALLER(1)),
    ROW("share-noscript", "the server has lost its script cache, or is busy", OF_QUEUE,
        SHARES(X, S), NOSCRIPT(1), DENIAL(1), CANCEL(1)),
    ROW("share-borrower", "another program takes the lock while it is free, and a push is lost",
        OF_QUEUE, SHARES(X, S), SLOW(1), BORROWER(1), LOST_PUSH(1), CANCEL(1)),
    ROW("share-foreign", "another program overwrites the key", SHARES_FORGET, SHARES(X, S), SLOW(1),
        FOREIGN_LOCK(1), LOST_PUSH(1), CANCEL(1)),
    ROW("share-readers", "two readers: a connection breaks, a caller cancels or extends", OF_QUEUE,
        SHARES(S, S), LOSS(1), CANCEL(1), EXTEND_BY_CALLER(1)),
    ROW("share-three-crash", "a writer and two readers: one of them dies", OF_QUEUE,
        SHARES_OF_THREE(X, S, S), CRASH(1)),
    ROW("share-three-cancel", "... or one cancels", OF_QUEUE, SHARES_OF_THREE(X, S, S), CANCEL(1)),
    ROW("share-three-slow", "... or everything is late", OF_QUEUE, SHARES_OF_THREE(X, S, S),
        SLOW(1)),
    ROW("share-three-push", "... or a push is lost", OF_QUEUE, SHARES_OF_THREE(X, S, S),
        LOST_PUSH(1)),
    ROW("share-long", "a lease of 3 s, a provisional grant of 2: a push is lost", OF_LONG_QUEUE,
        SHARES(X, S), SLOW(1), LOST_PUSH(1)),
    ROW("share-long-loss", "... or a connection", OF_LONG_QUEUE, SHARES(X, S), SLOW(1), LOSS(1)),
    ROW("share-long-three", "... with two readers", OF_LONG_QUEUE, SHARES_OF_THREE(X, S, S)),
    ROW("share-permits", "one of two permits, and both: a connection breaks, a caller cancels",
        OF_QUEUE, SHARES(P, D), LOSS(1), CANCEL(1)),
    ROW("share-permits-slow", "... and everything is late", OF_QUEUE, SHARES(P, D), SLOW(2),
        CANCEL(1)),
    ROW("share-permits-three", "three that want one of two permits: a push is lost", OF_QUEUE,
        SHARES_OF_THREE(P, P, P), LOST_PUSH(1)),
    ROW("share-permits-crash", "... or one of them dies", OF_QUEUE, SHARES_OF_THREE(P, P, P),
        CRASH(1)),
    ROW("share-permits-all", "one, both, one: the second is not overtaken", OF_QUEUE,
        SHARES_OF_THREE(P, D, P), CANCEL(1)),
    ROW("share-permits-crash-all", "... one of them dies, and another one cancels", OF_QUEUE,
        SHARES_OF_THREE(P, D, P), CANCEL(1), CRASH(1), .is_vast = true),
    ROW("share-permits-writer", "one of two permits, both, and a writer", OF_QUEUE,
        SHARES_OF_THREE(P, D, X)),
    ROW("share-permits-loss", "three that want one of two permits: a connection breaks", OF_QUEUE,
        SHARES_OF_THREE(P, P, P), LOSS(1)),
    ROW("share-readers-three", "three readers: a connection breaks", OF_QUEUE,
        SHARES_OF_THREE(S, S, S), LOSS(1)),
    ROW("share-many", "a writer and a reader: all that may happen to a client once", OF_QUEUE,
        SHARES(X, S), LOSS(1), CRASH(1), CANCEL(1), LOST_PUSH(1), SILENCE(1)),
    ROW("share-loss-twice", "... two connections break, and one of them dies", OF_QUEUE,
        SHARES(X, S), LOSS(2), CRASH(1)),
    ROW("share-extend-loss", "... a connection breaks, a caller cancels or extends", OF_QUEUE,
        SHARES(X, S), LOSS(1), CANCEL(1), EXTEND_BY_CALLER(1)),
    ROW("share-old",
        "a writer of an earlier version: a connection breaks, a push is lost, a caller cancels",
        OF_QUEUE, SHARES(X, S), OLD_FIRST, LOSS(1), LOST_PUSH(1), CANCEL(1)),
    ROW("share-old-slow", "... and everything is late, or a push is lost", OF_QUEUE, SHARES(X, S),
        OLD_FIRST, SLOW(1), LOST_PUSH(1)),
    ROW("share-old-three", "... with two readers: the first lets in the second", OF(queue),
        .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_WOKEN, SHARES_OF_THREE(X, S, S),
        OLD_FIRST),
    ROW("share-leases", "two readers, and one has the longer lease", OF_QUEUE, SHARES(S, S),
        .lease_of_ms = { 60, 30 }, SLOW(1)),
    ROW("share-ages-crash", "a waiter dies, and is passed over after 3 s", OF_LONG_QUEUE,
        SHARES_OF_THREE(X, S, S), .queue.ages = true, CRASH(1)),
    ROW("share-change", "a writer lets a reader in, and wants the lock alone again", OF_QUEUE,
        SHARES(X, S), DOWNGRADE(1), UPGRADE(1)),
    ROW("share-change-slow", "... and everything is late", OF_QUEUE, SHARES(X, S), SLOW(1),
        DOWNGRADE(1), UPGRADE(1)),
    ROW("share-change-loss", "... and a connection breaks", OF_QUEUE, SHARES(X, S), LOSS(1),
        DOWNGRADE(1), UPGRADE(1)),
    ROW("share-change-late", "... and the old connection is not ended", OF_QUEUE, SHARES(X, S),
        .queue.never_kills = true, .never_renews = true, LOSS(1), DOWNGRADE(1), UPGRADE(1)),
    ROW("share-change-cancel", "... and a caller cancels, or extends", OF_QUEUE, SHARES(X, S),
        CANCEL(1), EXTEND_BY_CALLER(1), DOWNGRADE(1), UPGRADE(1)),
    ROW("share-change-denial", "... and the server is busy, or has lost its script cache", OF_QUEUE,
        SHARES(X, S), DENIAL(1), NOSCRIPT(1), DOWNGRADE(1), UPGRADE(1)),
    ROW("share-change-crash", "... and a client dies, or a connection breaks", OF_QUEUE,
        SHARES(X, S), LOSS(1), CRASH(1), DOWNGRADE(1), UPGRADE(1), .is_vast = true),
    ROW("share-change-crash-loss", "... while no client renews: every state", OF_QUEUE,
        SHARES(X, S), .never_renews = true, LOSS(1), CRASH(1), DOWNGRADE(1), UPGRADE(1)),
    ROW("share-upgrade", "two readers want the lock alone: a connection breaks", OF_QUEUE,
        SHARES(S, S), LOSS(1), UPGRADE(2)),
    ROW("share-upgrade-late", "... and the old connection is not ended", OF_QUEUE, SHARES(S, S),
        .queue.never_kills = true, .never_renews = true, LOSS(1), UPGRADE(2)),
    ROW("share-downgrade-three", "a writer lets in two readers, or a writer waits", OF_QUEUE,
        SHARES_OF_THREE(X, S, S), DOWNGRADE(1)),
    ROW("share-upgrade-three", "three readers, and one wants the lock alone", OF_QUEUE,
        SHARES_OF_THREE(S, S, S), UPGRADE(1)),
    /* ---- endless rounds ---------------------------------------------------------------------- */
    ROW("share-for-ever", "a writer and a reader, endless rounds: every call can end",
        QUEUE_ENDLESS, SHARES(X, S)),
    ROW("share-for-ever-loss", "... a connection breaks", QUEUE_ENDLESS, SHARES(X, S), LOSS(1)),
    ROW("share-for-ever-push", "... a push is lost, a waiter is passed over, a caller cancels",
        QUEUE_ENDLESS, SHARES(X, S), LOST_PUSH(1), SILENCE(1), CANCEL(1)),
    ROW("share-for-ever-crash", "... a client dies, a caller cancels, and no client renews",
        QUEUE_ENDLESS, SHARES(X, S), .never_renews = true, CRASH(1), CANCEL(1)),
    ROW("share-for-ever-crash-push", "... and a push is lost", QUEUE_ENDLESS, SHARES(X, S),
        .never_renews = true, CRASH(1), CANCEL(1), LOST_PUSH(1)),
    ROW("share-for-ever-old", "... the writer is of an earlier version, and a connection breaks",
        QUEUE_ENDLESS, SHARES(X, S), OLD_FIRST, LOSS(1), CANCEL(1)),
    ROW("share-for-ever-change", "... a holder lets others in, or wants the lock alone",
        QUEUE_ENDLESS, SHARES(X, S), DOWNGRADE(1), UPGRADE(1)),
    ROW("share-for-ever-three", "... two readers, and no client renews", QUEUE_ENDLESS,
        SHARES_OF_THREE(X, S, S), .never_renews = true),
    ROW("share-for-ever-permits", "one of two permits, and both, in endless rounds", QUEUE_ENDLESS,
        SHARES(P, D), LOST_PUSH(1), SILENCE(1), CANCEL(1)),
    /* ---- what it cannot give ----------------------------------------------------------------- */
    ROW("share-limit-old-cancel",
        "a waiter of an earlier version cancels: those behind it wait for their heartbeat",
        OF(queue), SHARES_OF_THREE(X, S, S), OLD_FIRST, BREAKS_ONLY(WOKEN, 34)),
    /* ---- planted in the server --------------------------------------------------------------- */
    ROW("share-planted-readers-first", "a reader joins the others, before the writer that waits",
        OF(queue), SHARES_OF_THREE(X, S, S), PLANTED(READERS_FIRST), BREAKS_ONLY(FIRST_COME, 6)),
    ROW("share-planted-gate-of-last", "the gate ends with the reader that came last", OF(queue),
        SHARES(S, S), .lease_of_ms = { 60, 30 }, PLANTED(GATE_OF_LAST), BREAKS_ONLY(HONEST, 5)),
    ROW("share-planted-heartbeat-keeps", "a heartbeat counts the permits of the dead", OF(queue),
        SHARES_OF_THREE(P, P, P), PLANTED(HEARTBEAT_KEEPS), CRASH(1), BREAKS_ONLY(WOKEN, 22)),
    ROW("share-planted-heartbeat-only", "a heartbeat does not serve those behind a gate", OF(queue),
        SHARES_OF_THREE(P, P, P), PLANTED(HEARTBEAT_ONLY), CRASH(1), BREAKS_ONLY(WOKEN, 22)),
    ROW("share-planted-fence-each", "each reader gets a fence of its own", OF(queue), SHARES(S, S),
        PLANTED(FENCE_EACH), BREAKS_ONLY(FENCE, 6)),
    ROW("share-planted-lets-in-one", "a release lets in one reader of two", OF(queue),
        SHARES_OF_THREE(X, S, S), PLANTED(LETS_IN_ONE), BREAKS_ONLY(WOKEN, 15)),
    ROW("share-planted-dead-wait", "a dead writer at the head keeps out the readers behind it",
        OF(queue), .terms = { .lease_ms = 3000, .answer_ms = 1500 }, .wait_ms = 4500,
        SHARES_OF_THREE(X, S, S), .queue.ages = true, PLANTED(DEAD_WAIT), CRASH(1),
        BREAKS_ONLY(WOKEN, 24)),
    ROW("share-planted-same-token", "an upgrade keeps its token: a command comes late", OF(queue),
        SHARES(X, S), .queue.never_kills = true, PLANTED(ONE_TOKEN), LOSS(1), DOWNGRADE(1),
        UPGRADE(1), BREAKS_ONLY(ONE_HOLDER, 18)),
    ROW("share-planted-overwrites", "an upgrade ends the shares of others", OF(queue), SHARES(S, S),
        PLANTED(SET_OVERWRITES), UPGRADE(1), BREAKS_ONLY(ONE_HOLDER, 9)),
    /* ---- planted in the protocol ------------------------------------------------------------- */
    ROW("share-mutant-from-push", "a provisional grant counts from the arrival of the push",
        OF(mutant_from_push), SHARES(X, S), SLOW(1), BREAKS_ONLY(HONEST, 10)),
    ROW("share-mutant-still-shares", "who was upgraded renews as one that shares",
        OF(mutant_still_shares), SHARES(S, S), UPGRADE(1), BREAKS_ONLY(ONE_HOLDER, 12)),
    ROW("share-mutant-only-listens", "a waiter sends no heartbeat, and its push is lost",
        OF(mutant_only_listens), SHARES(X, S), .wait_ms = BWL_NEVER, .never_renews = true,
        LOST_PUSH(1), BREAKS_ONLY(ENDS, 8)),
};

const bwl_scenario_table bwl_scenarios_of_share = { table, sizeof table / sizeof table[0] };
