/*
 * articles.c -- the locks of articles: the faults that break them, in how few steps; and those that
 * do not, in every state.  First the protocols as in src/protocol/articles, then the listings
 * exactly as published.
 *
 * The leases are short, in the unit of the protocol.  A stale key is left from a previous holder,
 * and has expired when the world begins.
 *
 * Four articles have listings: "Redis的分布式锁 / setnx" (way-...), "Redis实现分布式锁" (guard-...),
 * "Lock / watch与锁 / 分布式锁" (watch-...), "利用redis实现分布式锁" (jedis-...).  A client that crashes leaves a
 * stale key.
 */
#include "lab/scenario/as_written.h"
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

#define LOCK(NAME, RULES)       OF(NAME), BY_RULES(RULES)
#define LOCK_2S(NAME, RULES)    OF(NAME), BY_RULES_2S(RULES)
#define IN_SECONDS(NAME, RULES) LOCK_2S(written_##NAME, RULES)
#define WRITTEN(NAME, RULES)    LOCK(written_##NAME, RULES)

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

    /* ---- way 1: SETNX; DEL ------------------------------------------------------------------- */
    ROW("way-1-calm", "SETNX, DEL: nothing goes wrong", WRITTEN(way_1, literal), CALM_TO_THE_END,
        .rounds = 2),
    ROW("way-1-crash", "the holder dies, and no client gets the lock again",
        WRITTEN(way_1, literal), FOR_EVER, CRASH(1), BREAKS_ONLY(LIVE, 3)),
    ROW("way-1-lost-answer", "the answer to SETNX is lost, and no client gets the lock again",
        WRITTEN(way_1, literal), FOR_EVER, LOSS(1), BREAKS_ONLY(LIVE, 3)),
    ROW("way-1-lost-release", "a release does not get there, and the key stays",
        WRITTEN(way_1, literal), LOSS(1), BREAKS_ONLY(CLEAN_END, 10)),
    ROW("way-1-late-release", "a release may be delayed: until then no other client has the lock",
        WRITTEN(way_1, literal), .invariants = INVARIANTS_OWN, .clients = 3, LOSS(1)),
    /* ---- way 2: EXPIRE 0 when DEL did not succeed -------------------------------------------- */
    ROW("way-2-crash", "the same as releasing twice: the deadlock stays", WRITTEN(way_2, literal),
        FOR_EVER, CRASH(1), BREAKS_ONLY(LIVE, 3)),
    ROW("way-2-lost-reply",
        "DEL is done and its reply is lost: EXPIRE 0 removes the next one's lock",
        WRITTEN(way_2, literal), LOSS(1), BREAKS_ONLY(OWN_KEY, 10)),
    ROW("way-2-lost-reply-two", "... and a third client comes in beside it",
        WRITTEN(way_2, literal), .clients = 3, LOSS(1), BREAKS_EXCLUSION(14)),
    /* ---- way 3: a stamp; when it is over: DEL, SETNX ----------------------------------------- */
    ROW("way-3-once", "each once: no two of them inside", IN_SECONDS(way_3, seconds), EXCLUSION),
    ROW("way-3-no-fault", "a key that is gone counts as over: DEL removes whatever came since",
        IN_SECONDS(way_3, seconds), .rounds = 2, BREAKS_EXCLUSION(18)),
    ROW("way-3-stale", "P2 and P3 find P1's key over: P3's DEL removes P2's new one",
        IN_SECONDS(way_3, seconds), STALE, BREAKS_EXCLUSION(18)),
    ROW("way-3-late-release",
        "the time is too short: DEL comes late, and removes the next one's lock",
        IN_SECONDS(way_3, seconds), SLOW(2), BREAKS_ONLY(OWN_KEY, 15)),
    ROW("way-3-skew", "a client whose clock is a lease ahead finds every lock over",
        IN_SECONDS(way_3, seconds), AHEAD(3000), BREAKS_EXCLUSION(12)),
    /* ---- way 4: a timestamp; when it is over: GETSET ----------------------------------------- */
    ROW("way-4-calm", "GETSET: no delay, no crash", IN_SECONDS(way_4, seconds), CALM),
    ROW("way-4-stale", "the key has expired: only one client gets it", IN_SECONDS(way_4, seconds),
        EXCLUSION, STALE),
    ROW("way-4-stale-three", "... of three as well", IN_SECONDS(way_4, seconds), EXCLUSION,
        .clients = 3, .tries_once = true, STALE),
    ROW("way-4-moved-stamp", "P2 loses, and P3's lock has P2's stamp: it is not P3's to give back",
        IN_SECONDS(way_4, seconds), STALE, BREAKS_ONLY(HONEST, 13)),
    ROW("way-4-moved-no-fault", "... also without a stale key: what was gone is the same as gone",
        IN_SECONDS(way_4, seconds), .rounds = 2, BREAKS_ONLY(HONEST, 15)),
    ROW("way-4-skew", "a client whose clock is a lease ahead finds every lock over",
        IN_SECONDS(way_4, seconds), AHEAD(3000), BREAKS_EXCLUSION(10)),
    ROW("way-4-late-release", "DEL comes late, and removes the next one's lock",
        IN_SECONDS(way_4, seconds), SLOW(2), BREAKS_ONLY(OWN_KEY, 13)),
    ROW("way-4-crash", "a holder dies, and after its time another gets the lock",
        IN_SECONDS(way_4, seconds), KEEPS_LIVE, CRASH(1)),
    /* ---- way 5: SET NX EX; DEL --------------------------------------------------------------- */
    ROW("way-5-calm", "SET NX EX, DEL: no delay, no crash", WRITTEN(way_5, literal),
        CALM_TO_THE_END, .rounds = 2),
    ROW("way-5-crash", "a holder dies, and after a lease another gets the lock",
        WRITTEN(way_5, literal), KEEPS_LIVE, CRASH(1)),
    ROW("way-5-crash-late", "... unless it died with DEL under way", WRITTEN(way_5, literal),
        FOR_EVER, CRASH(1), BREAKS_EXCLUSION(13)),
    ROW("way-5-overrun", "P1 overruns, and its DEL removes P2's lock", WRITTEN(way_5, literal),
        .terms.answer_ms = 40, SLOW(1), BREAKS_ONLY(OWN_KEY, 8)),
    ROW("way-5-overrun-two", "... and P3 comes in beside P2: neither of them was slow",
        WRITTEN(way_5, literal), .terms.answer_ms = 40, .clients = 3, SLOW(1),
        BREAKS_ONLY(ONE_WORKER, 12)),
    /* ---- way 6: SET NX EX password; compare and delete --------------------------------------- */
    ROW("way-6-script", "a password of one's own, compared by a script: never another's key",
        WRITTEN(way_6, token), .clients = 3,
        .invariants = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_ONE_WORKER, SLOW(2)),
    ROW("way-6-one-password", "every client has the password of the listing, abc123",
        WRITTEN(way_6, literal), .terms.answer_ms = 40, SLOW(1), BREAKS_ONLY(OWN_KEY, 8)),
    ROW("way-6-get-del", "GET, then DEL: between the two the lock is another's",
        WRITTEN(get_del, token), .terms.answer_ms = 40, SLOW(1), BREAKS_ONLY(OWN_KEY, 10)),

    /* ---- milliseconds, buffers, a guard before DEL ------------------------------------------- */
    ROW("by-time-calm", "GETSET by time: no delay, no crash", WRITTEN(by_time, milliseconds), CALM),
    ROW("by-time-stale", "the key has expired: only one client gets it",
        WRITTEN(by_time, milliseconds), EXCLUSION, STALE),
    ROW("by-time-moved-stamp", "a loser's GETSET moves the winner's stamp",
        WRITTEN(by_time, milliseconds), STALE, BREAKS_ONLY(HONEST, 13)),
    ROW("by-time-skew", "clocks of different machines are compared", WRITTEN(by_time, milliseconds),
        AHEAD(40), BREAKS_EXCLUSION(10)),
    ROW("by-time-no-sleep", "sleep_time is 0: the waiter asks again and again",
        WRITTEN(no_sleep, milliseconds), BREAKS_ONLY(PAUSES, 11)),
    ROW("guard-always-true", "a release that leaves the key alone says that it has released",
        WRITTEN(guard_meant, milliseconds), BREAKS_ONLY(REPORTED, 7)),
    ROW("guard-not-owner", "a guard is no ownership: a slow holder deletes the next holder's lock",
        WRITTEN(guard_meant, milliseconds), BREAKS_ONLY(OWN_KEY, 15)),
    ROW("guard-as-written",
        "milliseconds compared with 0.003, a buffer in seconds: no better, no worse",
        WRITTEN(guard, milliseconds), BREAKS_ONLY(OWN_KEY, 15)),
    /* ---- SETNX, EXPIRE, repair; release under WATCH ------------------------------------------ */
    ROW("watch-calm", "SETNX, EXPIRE: no delay, no crash", IN_SECONDS(watch, token_s),
        CALM_TO_THE_END),
    ROW("watch-crash", "a holder dies before EXPIRE: the waiter repairs it",
        IN_SECONDS(watch, token_s), .invariants = BWL_INVARIANT_LIVE | INVARIANTS_EXCLUSION,
        FOR_EVER, CRASH(1)),
    ROW("watch-slow", "DEL under WATCH, at any delay: never another client's key",
        IN_SECONDS(watch, token_s), .invariants = BWL_INVARIANT_OWN_KEY, SLOW(2)),
    ROW("watch-lost", "... nor from a connection that broke", IN_SECONDS(watch, token_s),
        .invariants = BWL_INVARIANT_OWN_KEY, SLOW(1), LOSS(1)),
    ROW("watch-ttl", "TTL compared with -2: no repair, and no client gets the lock again",
        IN_SECONDS(watch_ttl, token_s), FOR_EVER, CRASH(1), BREAKS_ONLY(LIVE, 3)),
    ROW("watch-no-end", "the loop's variable never moves: it waits for ever",
        IN_SECONDS(watch_no_end, token_s), BREAKS_ONLY(IN_TIME, 49)),
    ROW("watch-no-sleep", "sleep(0.2) is sleep(0)", IN_SECONDS(watch_no_sleep, token_s),
        BREAKS_ONLY(PAUSES, 11)),
    ROW("watch-queued", "MULTI before GET: QUEUED is no uuid, and nothing is ever released",
        IN_SECONDS(watch_queued, token_s), BREAKS_ONLY(TAKEN_BACK, 7)),
    ROW("watch-exec-first", "the first EXEC ends the watch: DEL removes whatever is there",
        IN_SECONDS(watch_exec_first, token_s), SLOW(2), BREAKS_ONLY(OWN_KEY, 15)),
    ROW("watch-repair-by-del", "the repair is DEL: two holders without any fault",
        IN_SECONDS(watch_del, token_s), BREAKS_EXCLUSION(18)),
    /* ---- the Jedis lock ---------------------------------------------------------------------- */
    ROW("jedis-calm", "no delay, no crash", WRITTEN(jedis, milliseconds), CALM),
    ROW("jedis-no-fault",
        "... in a second round a stamp is moved, and DEL removes what is not its own",
        WRITTEN(jedis, milliseconds), .rounds = 2, BREAKS_ONLY(OWN_KEY, 22)),
    ROW("jedis-stale", "the key has expired: only one client gets it: synchronous, so safe",
        WRITTEN(jedis, milliseconds), EXCLUSION, STALE),
    ROW("jedis-crash", "a holder dies, and after its time another gets the lock",
        WRITTEN(jedis, milliseconds), KEEPS_LIVE, CRASH(1)),
    ROW("jedis-skew", "... unless a clock is ahead", WRITTEN(jedis, milliseconds), AHEAD(40),
        BREAKS_EXCLUSION(10)),
    ROW("jedis-wall", "... or is set on by a lease", WRITTEN(jedis, milliseconds),
        .clocks.wall_ms = 40, WALL(1), BREAKS_EXCLUSION(11)),
    ROW("jedis-moved-stamp", "... or the loser's stamp is in the winner's lock",
        WRITTEN(jedis, milliseconds), STALE, BREAKS_ONLY(HONEST, 13)),
    ROW("jedis-late-release", "... or DEL comes late", WRITTEN(jedis, milliseconds), SLOW(2),
        BREAKS_ONLY(OWN_KEY, 23)),
    ROW("jedis-numeric-stale",
        "the second rule: what GETSET found is over; only one of two gets it",
        WRITTEN(jedis_numeric, milliseconds), EXCLUSION, STALE),
    ROW("jedis-numeric-skew", "... unless a clock is ahead", WRITTEN(jedis_numeric, milliseconds),
        AHEAD(40), BREAKS_EXCLUSION(10)),
};

const bwl_scenario_table bwl_scenarios_of_articles = { table, sizeof table / sizeof table[0] };
