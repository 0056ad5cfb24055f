/*
 * articles.c -- the locks of articles: the faults that break them, in how few steps; and those that
 * do not, in every state.
 *
 * These are the protocols in src/protocol/articles.  The listings exactly as published are files in
 * lab/locks, with worlds of their own.  The leases are short, in the unit of the protocol.  A stale
 * key is left from a previous holder, and has expired when the world begins.
 */
#include "lab/scenario/tables.h"
#include "protocol/articles.h"
#include "protocol/protocol.h"

enum {
    /* What a lock without expiry or without ownership guarantees. */
    INVARIANTS_CALLER = BWL_INVARIANT_REPORTED | BWL_INVARIANT_NOT_STUCK | BWL_INVARIANT_IN_TIME |
                        BWL_INVARIANT_PAUSES,
    INVARIANTS_OWN = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY,
};

/* Nothing goes wrong; and nothing is left at the end. */
#define CALM            .invariants = INVARIANTS_OWN | INVARIANTS_CALLER
#define CALM_TO_THE_END CALM | BWL_INVARIANT_CLEAN_END
#define HONEST_TO_THE_END \
    .invariants = INVARIANTS_CALM | BWL_INVARIANT_HONEST | BWL_INVARIANT_CLEAN_END

/* As in protocol/protocols.c, with tokens of the lab's own. */
static const bwl_compat_rules stamp_del = {
    .value   = BWL_VALUE_DECIMAL,
    .unit_ns = 1000000000,
    .expired = BWL_TIMESTAMP_NOT_AFTER_NOW,
    .gone    = BWL_GONE_SWAP,
};

#define LOCK(NAME, RULES)    OF(NAME), BY_RULES(RULES)
#define LOCK_2S(NAME, RULES) OF(NAME), BY_RULES_2S(RULES)

/* By the rules above. */
#define STAMP_DEL OF(setnx_stamp_del), .options.rules = &stamp_del, .terms.lease_ms = 2000

/* ---- setnx-getset, with the parameters of each article, and with the server's clock ---------- */

#define GETSET_S(RULES)  .options.rules = &bwl_compat_rules_##RULES, .terms.lease_ms = 2000
#define GETSET_MS(RULES) .options.rules = &bwl_compat_rules_##RULES

#define GETSET(NAME, STORY, TERMS, ...) \
    ROW("getset-" NAME, STORY, OF(setnx_getset), TERMS, __VA_ARGS__)

/* The same rows for each set of rules: the invariants that hold when nothing is late, the size of
 * clock steps, and the number of steps in which a late DEL breaks the lock. */
#define FAMILY(NAME, TERMS, CALM, STEP_MS, LATE_STEPS)                                             \
    GETSET(NAME "-calm", "each once, and nothing is late", TERMS, .invariants = CALM),             \
        GETSET(NAME "-stale", "one client takes over an expired key", TERMS, EXCLUSION, STALE),    \
        GETSET(NAME "-stale-three", "... of three", TERMS, EXCLUSION, .clients = 3,                \
               .tries_once = true, STALE),                                                         \
        GETSET(NAME "-moved", "a loser has moved the winner's stamp", TERMS, STALE,                \
               BREAKS_ONLY(HONEST, 17)),                                                           \
        GETSET(NAME "-skew", "a client whose clock is ahead takes a lock that is held", TERMS,     \
               AHEAD(STEP_MS), BREAKS_EXCLUSION(12)),                                              \
        GETSET(NAME "-wall", "... or one whose clock steps", TERMS, .clocks.wall_ms = STEP_MS,     \
               WALL(1), BREAKS_EXCLUSION(13)),                                                     \
        GETSET(NAME "-late", "a late DEL removes the next holder's lock", TERMS, SLOW(2),          \
               BREAKS_ONLY(OWN_KEY, LATE_STEPS)),                                                  \
        GETSET(NAME "-crash", "a holder dies, and another gets the lock later", TERMS, KEEPS_LIVE, \
               CRASH(1))

static const bwl_scenario table[] = {
    /* ---- setnx-del --------------------------------------------------------------------------- */
    ROW("setnx-del-calm", "nothing goes wrong", LOCK(setnx_del, literal),
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_CLEAN_END, .rounds = 2),
    ROW("setnx-del-crash", "the holder dies, and no client gets the lock again",
        LOCK(setnx_del, literal), FOR_EVER, CRASH(1), BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-loss", "an answer or a release is lost, and no client gets the lock again",
        LOCK(setnx_del, literal), FOR_EVER, LOSS(1), BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-late", "a release may be delayed: until then no other client has the lock",
        LOCK(setnx_del, literal), .invariants = INVARIANTS_OWN, .clients = 3, SLOW(1), LOSS(1)),
    /* ---- setnx-del-expire -------------------------------------------------------------------- */
    ROW("setnx-del-expire-calm", "nothing goes wrong", LOCK(setnx_del_expire, literal),
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_CLEAN_END, .rounds = 2),
    ROW("setnx-del-expire-crash", "the same as releasing twice: the deadlock stays",
        LOCK(setnx_del_expire, literal), FOR_EVER, CRASH(1), BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-expire-lost",
        "DEL is done, its reply is lost: EXPIRE 0 removes the next one's lock",
        LOCK(setnx_del_expire, literal), LOSS(1), BREAKS_ONLY(OWN_KEY, 10)),
    ROW("setnx-del-expire-two", "... and a third client comes in beside it",
        LOCK(setnx_del_expire, literal), .clients = 3, LOSS(1), BREAKS_EXCLUSION(14)),
    /* ---- setnx-stamp-del --------------------------------------------------------------------- */
    ROW("setnx-stamp-del-once", "each once, without delay: never two of them inside", STAMP_DEL,
        EXCLUSION),
    ROW("setnx-stamp-del-twice", "a key that is gone counts as over: DEL removes what came since",
        STAMP_DEL, .rounds = 2, BREAKS_EXCLUSION(18)),
    ROW("setnx-stamp-del-stale",
        "two find a key over: the second DEL removes the first one's new key", STAMP_DEL, STALE,
        BREAKS_EXCLUSION(20)),
    ROW("setnx-stamp-del-late", "DEL comes late, and removes the next one's lock", STAMP_DEL,
        SLOW(2), BREAKS_ONLY(OWN_KEY, 17)),
    ROW("setnx-stamp-del-skew", "a client whose clock is a lease ahead finds every lock over",
        STAMP_DEL, AHEAD(3000), BREAKS_EXCLUSION(14)),
    /* ---- set-nx-ex --------------------------------------------------------------------------- */
    ROW("set-nx-ex-calm", "no delay, no crash", LOCK_2S(set_nx_ex, literal_s), HONEST_TO_THE_END,
        .rounds = 2),
    ROW("set-nx-ex-crash", "a holder dies, and after a lease another gets the lock",
        LOCK_2S(set_nx_ex, literal_s), KEEPS_LIVE, CRASH(1)),
    ROW("set-nx-ex-overrun", "DEL comes late, and removes the next one's lock",
        LOCK_2S(set_nx_ex, literal_s), SLOW(2), BREAKS_ONLY(OWN_KEY, 9)),
    ROW("set-nx-ex-two", "... and a third comes in beside it: neither of them was slow",
        LOCK_2S(set_nx_ex, literal_s), .clients = 3, SLOW(2), BREAKS_ONLY(ONE_WORKER, 13)),
    /* ---- setnx-expire-watch ------------------------------------------------------------------ */
    ROW("setnx-expire-watch-calm", "no delay, no crash", LOCK_2S(setnx_expire_watch, token_s),
        HONEST_TO_THE_END),
    ROW("setnx-expire-watch-crash", "a holder dies before EXPIRE: the waiter repairs it",
        LOCK_2S(setnx_expire_watch, token_s),
        .invariants = BWL_INVARIANT_LIVE | INVARIANTS_EXCLUSION, FOR_EVER, CRASH(1)),
    ROW("setnx-expire-watch-slow", "DEL under WATCH, at any delay: never another client's key",
        LOCK_2S(setnx_expire_watch, token_s), .invariants = INVARIANTS_OWN, SLOW(2)),
    ROW("setnx-expire-watch-loss", "... nor from a connection that broke",
        LOCK_2S(setnx_expire_watch, token_s), .invariants = INVARIANTS_OWN, SLOW(1), LOSS(1)),
    ROW("setnx-expire-watch-waiter",
        "no client waits, and a key without an end stays: a crash, one client less",
        LOCK_2S(setnx_expire_watch, token_s), .tries_once = true, CRASH(1),
        BREAKS_ONLY(CLEAN_END, 13)),

    /* ---- setnx-getset ------------------------------------------------------------------------ */
    FAMILY("seconds", GETSET_S(seconds), INVARIANTS_CALM, 3000, 15),
    FAMILY("buffers", GETSET_MS(buffers), INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY, 40, 29),
    FAMILY("jedis", GETSET_MS(jedis), INVARIANTS_CALM, 40, 27),
    FAMILY("lock-foo", GETSET_MS(lock_foo), INVARIANTS_CALM, 40, 27),

    /* ---- setnx-getset by the server's clock: our own variant --------------------------------- */
    GETSET("server-slow", "no stamp is moved, no other key is removed, at any delay",
           GETSET_S(server),
           .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_HONEST |
                         BWL_INVARIANT_REPORTED,
           .rounds = 2, SLOW(2)),
    GETSET("server-stale", "a key that others have left is taken over by one", GETSET_S(server),
           .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_HONEST, STALE, SLOW(1)),
    GETSET("server-skew", "the clients' clocks do not matter", GETSET_S(server),
           .invariants = INVARIANTS_OWN | BWL_INVARIANT_HONEST, AHEAD(3000), SLOW(1)),
    GETSET("server-loss", "a connection breaks, and what was written comes later", GETSET_S(server),
           .invariants = INVARIANTS_OWN | BWL_INVARIANT_HONEST, SLOW(1), LOSS(1)),
};

const bwl_scenario_table bwl_scenarios_of_articles = { table, sizeof table / sizeof table[0] };
