/*
 * clocks.c -- clients whose clocks run too slow or too fast; numbers in a wrong unit; leases that
 * differ; and servers that report a restart.  See table.h.
 *
 * A lease of 30 ms counts as 28: so a clock may run at 94 per cent of the server's rate, and not at
 * 90.  A lease of 2 s counts as 1978 ms: 99 per cent, and not 97.
 */
#include "lab/scenario/as_written.h"
#include "lab/mutant/token.h"
#include "lab/scenario/tables.h"
#include "protocol/articles.h"

enum {
    /* A world in which the server forgets: what still holds, as far as one client can know. */
    INVARIANTS_ONE_CLIENT = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_CREATES | BWL_INVARIANT_HAS_END |
                            BWL_INVARIANT_TOLD | BWL_INVARIANT_HEEDS_NO | BWL_INVARIANT_TELLS_LOSS |
                            BWL_INVARIANT_TAKEN_BACK | BWL_INVARIANT_NOT_STUCK |
                            BWL_INVARIANT_CLEAN_END | BWL_INVARIANT_LOST_WAKE_UP |
                            BWL_INVARIANT_FOREIGN,
};

static const bwl_scenario table[] = {
    /* ---- the rate of a client's clock -------------------------------------------------------- */
    ROW("rate-slow", "a client's clock is as slow as the drift allowance allows",
        .clocks.pace_of = { 94 }, SLOW(1)),
    ROW("rate-slow-loss", "... and it loses its connection", .tries_once = true,
        .clocks.pace_of = { 94 }, LOSS(1)),
    ROW("rate-fast", "a client's clock is fast: its lease is over for it before it is in the store",
        .clocks.pace_of = { 106 }, SLOW(1)),
    ROW("rate-apart",
        "one clock slow, the other fast, and everything also just before each deadline",
        .clocks.pace_of = { 94, 106 }, .fine = true, SLOW(1)),
    ROW("rate-changes", "the clocks become slow at any moment", SLOW(1), RATE(1)),
    ROW("rate-set-nx-ex", "a lease of 2 s, and a clock as slow as its allowance allows",
        .protocol   = &bwl_set_nx_ex, BY_RULES_2S(literal_s),
        .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_HONEST, .fine = true,
        .clocks.pace_of = { 99 }),
    ROW("rate-jedis", "a waiter's clock is fast, and it finds the stamp over when its holder does",
        .protocol = &bwl_written_jedis, BY_RULES(milliseconds), .invariants = INVARIANTS_EXCLUSION,
        .fine = true, .clocks.pace_of = { 100, 106 }),
    ROW("limit-rate-too-slow", "a clock slower than the drift allowance allows: a holder too many",
        .never_renews = true, .fine = true, .clocks.pace_of = { 90 }, SLOW(2),
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-rate-changes", "the same, with a clock that was right at first",
        .clocks.rate_pace = 90, RATE(1), BREAKS_ONLY(HONEST, 4)),
    ROW("limit-rate-set-nx-ex", "one per cent and a bit: of a lease of 2 s, 3 are too many",
        .protocol = &bwl_set_nx_ex, BY_RULES_2S(literal_s), .fine = true, .clocks.pace_of = { 97 },
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-rate-jedis", "a waiter's clock is too fast, and it takes a lock that is held",
        .protocol = &bwl_written_jedis, BY_RULES(milliseconds), .invariants = INVARIANTS_EXCLUSION,
        .clocks.pace_of = { 100, 120 }, BREAKS(ONE_HOLDER, 12)),
    ROW("mutant-no-drift-rate", "no drift allowance, and a client's clock is slow",
        .protocol = &bwl_mutant_no_drift, .never_renews = true, .fine = true,
        .clocks.pace_of = { 94 }, SLOW(2), BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("mutant-no-drift-rate-changes", "the same, seen as soon as the clock has become slow",
        .protocol = &bwl_mutant_no_drift, RATE(1), BREAKS_ONLY(HONEST, 4)),

    /* ---- a server that reports a restart ----------------------------------------------------- */
    ROW("restart-told", "a server restarts empty, another by its run_id: what was held is lost",
        .server.has_run_id = true, .invariants = INVARIANTS_ONE_CLIENT, SLOW(1), LOSS(1),
        RESTART(1)),
    ROW("restore-told", "... with an older state: our key there proves nothing, and is taken back",
        .server.has_run_id = true, .invariants = INVARIANTS_ONE_CLIENT, SLOW(1), RESTORE(1)),
    ROW("failover-told", "another server takes over: what the first one gave is lost",
        .server.has_run_id = true, .invariants = INVARIANTS_ONE_CLIENT, SLOW(1), FAILOVER(1)),
    ROW("planted-same-server",
        "the engine ignores the run_id: an old key counts as proof of an old hold",
        .server.has_run_id = true, .mutations = BWL_MUTATION_SAME_SERVER,
        .invariants = INVARIANTS_ONE_CLIENT, RESTORE(1), BREAKS(HEEDS_NO, 10)),

    /* ---- numbers in a wrong unit ------------------------------------------------------------- */
    ROW("watch-50000", "EXPIRE 50000, meant as ms: a key for 13.9 hours",
        .protocol  = &bwl_written_watch, BY_RULES_2S(token_s),
        .mutations = BWL_MUTATION_MS_AS_SECONDS, BREAKS_ONLY(HAS_END, 4)),
    ROW("planted-ms-as-seconds",
        "the same slip in SET: a lease a thousand times as long as was meant",
        .mutations = BWL_MUTATION_MS_AS_SECONDS, BREAKS_ONLY(HAS_END, 2)),
    ROW("planted-seconds-as-ms",
        "seconds where ms are meant: the lock is over long before its holder thinks so",
        .mutations = BWL_MUTATION_SECONDS_AS_MS, .never_renews = true, BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("jedis-100-60-5", "100*60*5 for five minutes: the stamp is over after a tenth of that",
        .protocol   = &bwl_written_jedis_tenth, BY_RULES(milliseconds),
        .invariants = INVARIANTS_EXCLUSION, BREAKS(ONE_HOLDER, 12)),
    ROW("jedis-minus-1", "1 subtracted for a sleep of 100 ms: who was told to wait 300 ms waits on",
        .protocol = &bwl_written_jedis_minus_1, BY_RULES_2S(milliseconds),
        BREAKS_ONLY(IN_TIME, 47)),

    /* ---- leases that differ ------------------------------------------------------------------ */
    ROW("watch-repair-longer",
        "a waiter repairs with a lease longer than the holder's: it ends later",
        .protocol = &bwl_written_watch, BY_RULES_2S(token_s), .lease_of_ms = { 2000, 4000 },
        .invariants = INVARIANTS_EXCLUSION, SLOW(1)),
    ROW("watch-repair-shorter",
        "a waiter repairs with a lease shorter than the holder's, which ends too soon",
        .protocol = &bwl_written_watch, BY_RULES_2S(token_s), .lease_of_ms = { 4000, 2000 },
        BREAKS_ONLY(HONEST, 11)),
    ROW("setnx-expire-watch-shorter", "... and so it is with the repair as bowline has it",
        .protocol = &bwl_setnx_expire_watch, BY_RULES_2S(token_s), .lease_of_ms = { 4000, 2000 },
        BREAKS_ONLY(HONEST, 13)),
};

const bwl_scenario_table bwl_scenarios_of_clocks = { table, sizeof table / sizeof table[0] };
