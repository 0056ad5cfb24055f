/*
 * protocols.c -- the protocols of other programs, as in src/protocol: the faults that break them,
 * in how few steps; and those that do not, in every state.
 *
 * The leases are short, in the unit of the protocol.  A stale key is left from a former holder, and
 * has expired when the world begins.
 */
#include "lab/scenario/tables.h"
#include "protocol/articles.h"

/* As in protocol/protocols.c, with tokens of the lab's own. */
static const bwl_compat_rules stamp_del = {
    .value   = BWL_VALUE_DECIMAL,
    .unit_ns = 1000000000,
    .expired = BWL_TIMESTAMP_NOT_AFTER_NOW,
    .gone    = BWL_GONE_SWAP,
};

#define LOCK(NAME, RULES)    .protocol = &bwl_##NAME, BY_RULES(RULES)
#define LOCK_2S(NAME, RULES) .protocol = &bwl_##NAME, BY_RULES_2S(RULES)
#define STAMP_DEL \
    .protocol = &bwl_setnx_stamp_del, .options.rules = &stamp_del, .terms.lease_ms = 2000

static const bwl_scenario table[] = {
    /* ---- setnx-del --------------------------------------------------------------------------- */
    ROW("setnx-del-calm", "nothing goes wrong", LOCK(setnx_del, literal),
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_CLEAN_END, .rounds = 2),
    ROW("setnx-del-crash", "the holder dies, and nobody gets the lock ever again",
        LOCK(setnx_del, literal), .tries_once = true, .rounds = BWL_ANY, CRASH(1),
        BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-loss", "an answer or a release is lost, and nobody gets the lock ever again",
        LOCK(setnx_del, literal), .tries_once = true, .rounds = BWL_ANY, LOSS(1),
        BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-late", "a release may come as late as it likes: until then nobody has the lock",
        LOCK(setnx_del, literal), .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY,
        .clients = 3, SLOW(1), LOSS(1)),
    /* ---- setnx-del-expire -------------------------------------------------------------------- */
    ROW("setnx-del-expire-calm", "nothing goes wrong", LOCK(setnx_del_expire, literal),
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_CLEAN_END, .rounds = 2),
    ROW("setnx-del-expire-crash", "the same as releasing twice: the deadlock stays",
        LOCK(setnx_del_expire, literal), .tries_once = true, .rounds = BWL_ANY, CRASH(1),
        BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-expire-lost",
        "DEL is done, its reply is lost: EXPIRE 0 removes the next one's lock",
        LOCK(setnx_del_expire, literal), LOSS(1), BREAKS_ONLY(OWN_KEY, 10)),
    ROW("setnx-del-expire-two", "... and a third client comes in beside it",
        LOCK(setnx_del_expire, literal), .invariants = INVARIANTS_EXCLUSION, .clients = 3, LOSS(1),
        BREAKS(ONE_HOLDER, 14)),
    /* ---- setnx-stamp-del --------------------------------------------------------------------- */
    ROW("setnx-stamp-del-once", "each once, and nobody is late: no two of them inside", STAMP_DEL,
        .invariants = INVARIANTS_EXCLUSION),
    ROW("setnx-stamp-del-twice", "a key that is gone counts as over: DEL removes what came since",
        STAMP_DEL, .invariants = INVARIANTS_EXCLUSION, .rounds = 2, BREAKS(ONE_HOLDER, 18)),
    ROW("setnx-stamp-del-stale",
        "two find a key over: the second DEL removes the first one's new key", STAMP_DEL,
        .invariants = INVARIANTS_EXCLUSION, .server.stale = true, BREAKS(ONE_HOLDER, 20)),
    ROW("setnx-stamp-del-late", "DEL comes late, and removes the next one's lock", STAMP_DEL,
        SLOW(2), BREAKS_ONLY(OWN_KEY, 17)),
    ROW("setnx-stamp-del-skew", "a client whose clock is a lease ahead finds every lock over",
        STAMP_DEL, .invariants = INVARIANTS_EXCLUSION, .clocks.skew_ms = { 0, 3000 },
        BREAKS(ONE_HOLDER, 14)),
    /* ---- set-nx-ex --------------------------------------------------------------------------- */
    ROW("set-nx-ex-calm", "nobody is late, nobody dies", LOCK_2S(set_nx_ex, literal_s),
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_HONEST | BWL_INVARIANT_CLEAN_END,
        .rounds     = 2),
    ROW("set-nx-ex-crash", "a holder dies, and after a lease another gets the lock",
        LOCK_2S(set_nx_ex, literal_s), .invariants = BWL_INVARIANT_LIVE, .tries_once = true,
        .rounds = BWL_ANY, CRASH(1)),
    ROW("set-nx-ex-overrun", "DEL comes late, and removes the next one's lock",
        LOCK_2S(set_nx_ex, literal_s), SLOW(2), BREAKS_ONLY(OWN_KEY, 9)),
    ROW("set-nx-ex-two", "... and a third comes in beside it: neither of them was slow",
        LOCK_2S(set_nx_ex, literal_s), .clients = 3, SLOW(2), BREAKS_ONLY(ONE_WORKER, 13)),
    /* ---- setnx-expire-watch ------------------------------------------------------------------ */
    ROW("setnx-expire-watch-calm", "nobody is late, nobody dies",
        LOCK_2S(setnx_expire_watch, token_s),
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_HONEST | BWL_INVARIANT_CLEAN_END),
    ROW("setnx-expire-watch-crash", "a holder dies before EXPIRE: who waits repairs it",
        LOCK_2S(setnx_expire_watch, token_s),
        .invariants = BWL_INVARIANT_LIVE | INVARIANTS_EXCLUSION, .tries_once = true,
        .rounds = BWL_ANY, CRASH(1)),
    ROW("setnx-expire-watch-slow", "DEL under WATCH, as late as it likes: never another's key",
        LOCK_2S(setnx_expire_watch, token_s),
        .invariants = BWL_INVARIANT_OWN_KEY | INVARIANTS_EXCLUSION, SLOW(2)),
    ROW("setnx-expire-watch-loss", "... nor from a connection that broke",
        LOCK_2S(setnx_expire_watch, token_s),
        .invariants = BWL_INVARIANT_OWN_KEY | INVARIANTS_EXCLUSION, SLOW(1), LOSS(1)),
    ROW("setnx-expire-watch-waiter",
        "nobody waits, and a key without an end stays: a crash, one client less",
        LOCK_2S(setnx_expire_watch, token_s), .tries_once = true, CRASH(1),
        BREAKS_ONLY(CLEAN_END, 13)),
};

const bwl_scenario_table bwl_scenarios_of_protocols = { table, sizeof table / sizeof table[0] };
