/*
 * protocols.c -- other people's protocols, as src/protocol has them: what breaks them, in
 * how few steps; and what does not, in every state.
 *
 * The leases are short, in the unit that the protocol counts in.  A stale key is one that somebody
 * has left behind, over already when the world begins.
 */
#include "core/compat_rules.h"
#include "lab/scenario/tables.h"
#include "protocol/articles.h"

enum {
    INVARIANTS_EXCLUSION = BWL_INVARIANT_ONE_HOLDER | BWL_INVARIANT_ONE_WORKER,
    INVARIANTS_CALM      = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_TOLD |
                      BWL_INVARIANT_NOT_STUCK | BWL_INVARIANT_IN_TIME | BWL_INVARIANT_PAUSES,
};

/* As in protocol/protocols.c, with tokens of the lab's own. */
static const bwl_compat_rules literal   = { .value = BWL_VALUE_LITERAL, .literal = "1" };
static const bwl_compat_rules stamp_del = {
    .value   = BWL_VALUE_DECIMAL,
    .unit_ns = 1000000000,
    .expired = BWL_TIMESTAMP_NOT_AFTER_NOW,
    .gone    = BWL_GONE_SWAP,
};
static const bwl_compat_rules nx_ex   = { .value            = BWL_VALUE_LITERAL,
                                          .literal          = "1",
                                          .lease_in_seconds = true };
static const bwl_compat_rules watched = { .value = BWL_VALUE_TOKEN, .lease_in_seconds = true };

static const bwl_scenario table[] = {
    /* ---- setnx-del --------------------------------------------------------------------------- */
    ROW("setnx-del-calm", "nothing goes wrong", .protocol = &bwl_setnx_del,
        .terms = { .rules = &literal }, .invariants = INVARIANTS_CALM | BWL_INVARIANT_CLEAN_END,
        .rounds = 2),
    ROW("setnx-del-crash", "the holder dies, and nobody gets the lock ever again",
        .protocol = &bwl_setnx_del, .terms = { .rules = &literal }, .tries_once = true,
        .rounds = BWL_ANY, .budget = { [BWL_CRASH] = 1 }, BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-loss", "an answer or a release is lost, and nobody gets the lock ever again",
        .protocol = &bwl_setnx_del, .terms = { .rules = &literal }, .tries_once = true,
        .rounds = BWL_ANY, .budget = { [BWL_LOSS] = 1 }, BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-late", "a release may come as late as it likes: until then nobody has the lock",
        .protocol = &bwl_setnx_del, .terms = { .rules = &literal },
        .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY, .clients = 3,
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1 }),
    /* ---- setnx-del-expire -------------------------------------------------------------------- */
    ROW("setnx-del-expire-calm", "nothing goes wrong", .protocol = &bwl_setnx_del_expire,
        .terms = { .rules = &literal }, .invariants = INVARIANTS_CALM | BWL_INVARIANT_CLEAN_END,
        .rounds = 2),
    ROW("setnx-del-expire-crash", "the same as releasing twice: the deadlock stays",
        .protocol = &bwl_setnx_del_expire, .terms = { .rules = &literal }, .tries_once = true,
        .rounds = BWL_ANY, .budget = { [BWL_CRASH] = 1 }, BREAKS_ONLY(LIVE, 3)),
    ROW("setnx-del-expire-lost",
        "DEL is done, its reply is lost: EXPIRE 0 removes the next one's lock",
        .protocol = &bwl_setnx_del_expire, .terms = { .rules = &literal },
        .budget = { [BWL_LOSS] = 1 }, BREAKS_ONLY(OWN_KEY, 10)),
    ROW("setnx-del-expire-two", "... and a third client comes in beside it",
        .protocol = &bwl_setnx_del_expire, .terms = { .rules = &literal },
        .invariants = INVARIANTS_EXCLUSION, .clients = 3, .budget = { [BWL_LOSS] = 1 },
        BREAKS(ONE_HOLDER, 14)),
    /* ---- setnx-stamp-del --------------------------------------------------------------------- */
    ROW("setnx-stamp-del-once", "each once, and nobody is late: no two of them inside",
        .protocol = &bwl_setnx_stamp_del, .terms = { .rules = &stamp_del, .lease_ms = 2000 },
        .invariants = INVARIANTS_EXCLUSION),
    ROW("setnx-stamp-del-twice", "a key that is gone counts as over: DEL removes what came since",
        .protocol = &bwl_setnx_stamp_del, .terms = { .rules = &stamp_del, .lease_ms = 2000 },
        .invariants = INVARIANTS_EXCLUSION, .rounds = 2, BREAKS(ONE_HOLDER, 18)),
    ROW("setnx-stamp-del-stale",
        "two find a key over: the second DEL removes the first one's new key",
        .protocol = &bwl_setnx_stamp_del, .terms = { .rules = &stamp_del, .lease_ms = 2000 },
        .invariants = INVARIANTS_EXCLUSION, .server.stale = true, BREAKS(ONE_HOLDER, 20)),
    ROW("setnx-stamp-del-late", "DEL comes late, and removes the next one's lock",
        .protocol = &bwl_setnx_stamp_del, .terms = { .rules = &stamp_del, .lease_ms = 2000 },
        .budget = { [BWL_SLOW] = 2 }, BREAKS_ONLY(OWN_KEY, 17)),
    ROW("setnx-stamp-del-skew", "a client whose clock is a lease ahead finds every lock over",
        .protocol = &bwl_setnx_stamp_del, .terms = { .rules = &stamp_del, .lease_ms = 2000 },
        .invariants = INVARIANTS_EXCLUSION, .clocks.skew_ms = { 0, 3000 }, BREAKS(ONE_HOLDER, 14)),
    /* ---- set-nx-ex --------------------------------------------------------------------------- */
    ROW("set-nx-ex-calm", "nobody is late, nobody dies", .protocol = &bwl_set_nx_ex,
        .terms      = { .rules = &nx_ex, .lease_ms = 2000 },
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_HONEST | BWL_INVARIANT_CLEAN_END,
        .rounds     = 2),
    ROW("set-nx-ex-crash", "a holder dies, and after a lease another gets the lock",
        .protocol = &bwl_set_nx_ex, .terms = { .rules = &nx_ex, .lease_ms = 2000 },
        .invariants = BWL_INVARIANT_LIVE, .tries_once = true, .rounds = BWL_ANY,
        .budget = { [BWL_CRASH] = 1 }),
    ROW("set-nx-ex-overrun", "DEL comes late, and removes the next one's lock",
        .protocol = &bwl_set_nx_ex, .terms = { .rules = &nx_ex, .lease_ms = 2000 },
        .budget = { [BWL_SLOW] = 2 }, BREAKS_ONLY(OWN_KEY, 9)),
    ROW("set-nx-ex-two", "... and a third comes in beside it: neither of them was slow",
        .protocol = &bwl_set_nx_ex, .terms = { .rules = &nx_ex, .lease_ms = 2000 }, .clients = 3,
        .budget = { [BWL_SLOW] = 2 }, BREAKS_ONLY(ONE_WORKER, 13)),
    /* ---- setnx-expire-watch ------------------------------------------------------------------ */
    ROW("setnx-expire-watch-calm", "nobody is late, nobody dies",
        .protocol = &bwl_setnx_expire_watch, .terms = { .rules = &watched, .lease_ms = 2000 },
        .invariants = INVARIANTS_CALM | BWL_INVARIANT_HONEST | BWL_INVARIANT_CLEAN_END),
    ROW("setnx-expire-watch-crash", "a holder dies before EXPIRE: who waits repairs it",
        .protocol = &bwl_setnx_expire_watch, .terms = { .rules = &watched, .lease_ms = 2000 },
        .invariants = BWL_INVARIANT_LIVE | INVARIANTS_EXCLUSION, .tries_once = true,
        .rounds = BWL_ANY, .budget = { [BWL_CRASH] = 1 }),
    ROW("setnx-expire-watch-slow", "DEL under WATCH, as late as it likes: never another's key",
        .protocol = &bwl_setnx_expire_watch, .terms = { .rules = &watched, .lease_ms = 2000 },
        .invariants = BWL_INVARIANT_OWN_KEY | INVARIANTS_EXCLUSION, .budget = { [BWL_SLOW] = 2 }),
    ROW("setnx-expire-watch-loss", "... nor from a connection that broke",
        .protocol = &bwl_setnx_expire_watch, .terms = { .rules = &watched, .lease_ms = 2000 },
        .invariants = BWL_INVARIANT_OWN_KEY | INVARIANTS_EXCLUSION,
        .budget     = { [BWL_SLOW] = 1, [BWL_LOSS] = 1 }),
    ROW("setnx-expire-watch-waiter",
        "nobody waits, and a key without an end stays: a crash, one client less",
        .protocol = &bwl_setnx_expire_watch, .terms = { .rules = &watched, .lease_ms = 2000 },
        .tries_once = true, .budget = { [BWL_CRASH] = 1 }, BREAKS_ONLY(CLEAN_END, 13)),
};

const bwl_scenario_table bwl_scenarios_of_protocols = { table, sizeof table / sizeof table[0] };
