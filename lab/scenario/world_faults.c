/*
 * world_faults.c -- servers that restart with older data, fail over or evict; foreign values; wall
 * clocks; the invariants beyond the limits of a lease; clients whose clocks run too slow or too
 * fast; numbers in a wrong unit; leases that differ; and servers that report a restart.  See
 * table.h.
 *
 * A lease of 30 ms counts as 28: so a clock may run at 94 per cent of the server's rate, and not at
 * 90.  A lease of 2 s counts as 1978 ms: 99 per cent, and not 97.
 */
#include "lab/mutant/mutant.h"
#include "lab/scenario/tables.h"
#include "protocol/articles.h"
#include "protocol/protocol.h"

enum {
    /* The server loses data: the invariants that one client can still know; and where it sees the
     * restart. */
    INVARIANTS_FORGOTTEN =
        INVARIANTS_ONE_CLIENT | BWL_INVARIANT_LOST_WAKE_UP | BWL_INVARIANT_FOREIGN,
    INVARIANTS_REPORTED = INVARIANTS_FORGOTTEN | BWL_INVARIANT_TELLS_LOSS,
};

#define OF_JEDIS OF(setnx_getset), .options.rules = &bwl_compat_rules_jedis

static const bwl_scenario table[] = {
    /* ---- what must hold ---------------------------------------------------------------------- */
    ROW("server-older", "the server comes back with its data of any earlier time",
        .invariants = INVARIANTS_FORGOTTEN, SLOW(1), LOSS(1), RESTORE(1)),
    ROW("server-gives-way", "a replica without the last write takes over",
        .invariants = INVARIANTS_FORGOTTEN, SLOW(1), LOSS(1), FAILOVER(1)),
    ROW("server-stops", "the server stops and goes on at any time", STOP(1)),
    ROW("server-evicts", "the server evicts the key", .invariants = INVARIANTS_FORGOTTEN, SLOW(1),
        LOSS(1), EVICTION(1)),
    ROW("foreign", "another program sets the key: its value is not changed",
        .invariants = INVARIANTS_FORGOTTEN, SLOW(1), LOSS(1), FOREIGN_LOCK(1)),
    ROW("times-of-day", "the clients' times of day are wrong, and step: no client uses them",
        .clocks.skew_ms = { 0, 100000, -100000 }, SLOW(1), WALL(1)),
    ROW("three-everything-once", "three clients: slow, loss and crash, each once", .clients = 3,
        .is_vast = true, SLOW(1), LOSS(1), CRASH(1)),
    ROW("for-ever-loss-slow",
        "endless rounds: every call can end, and some client can get the lock", ENDLESS,
        .invariants = BWL_INVARIANTS_USUAL, SLOW(1), LOSS(1)),
    ROW("fenced", "a holder that was stopped writes: the resource rejects it by the fence",
        OF(fenced), .server.fences = true, .invariants = BWL_INVARIANT_FENCE, SLOW(3), WRITE(2)),
    ROW("fenced-forgets", "the server forgets the holder, but not the fence count", OF(fenced),
        .server.fences = true, .invariants = BWL_INVARIANT_FENCE, SLOW(1), RESTART(1), WRITE(3)),

    /* ---- the limits of a lease without a queue and without a fence --------------------------- */
    ROW("limit-server-older",
        "the server comes back with older data, in which another client had the lock", .rounds = 2,
        RESTORE(1), BREAKS_ONLY(ONE_HOLDER, 16)),
    ROW("limit-server-gives-way", "another server takes over before it has received the lock",
        FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-server-evicts", "the server evicts the key", EVICTION(1),
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-foreign",
        "another program sets the key without an expiry: no client gets the lock any more",
        FOR_EVER, FOREIGN_LOCK(1), BREAKS_ONLY(LIVE, 1)),
    ROW("limit-first-come", "a client that polls overtakes one that has waited longer", .rounds = 2,
        BREAKS_ONLY(FIRST_COME, 10)),
    ROW("limit-late-write", "without a fence, the write of a holder that was stopped is taken",
        SLOW(4), WRITE(2), BREAKS_ONLY(FENCE, 11)),

    /* ---- planted faults ---------------------------------------------------------------------- */
    ROW("planted-fence-forgets",
        "the server counts fences from 1 after a restart: a stale holder's write is accepted",
        OF(fenced), .server.fences = true, .rounds = 2, PLANTED(FENCE_FORGETS), RESTART(1),
        WRITE(2), BREAKS_ONLY(FENCE, 9)),
    ROW("planted-delete-of-foreign",
        "the server deletes without comparing, and what was there is another program's",
        PLANTED(DELETE_BLIND), FOREIGN_LOCK(1), BREAKS_ONLY(FOREIGN, 6)),
    ROW("mutant-sleeps", "a client that finds the lock busy waits for a message that never comes",
        OF(mutant_sleeps), .wait_ms = 2000, BREAKS_ONLY(LOST_WAKE_UP, 8)),
    ROW("mutant-asks-on", "a client without a reply repeats its request for ever",
        OF(mutant_asks_on), ENDLESS, LOSS(1), BREAKS_ONLY(ENDS, 2)),
    ROW("mutant-hammers", "a client that finds the lock busy tries again without a pause",
        OF(mutant_hammers), BREAKS_ONLY(PAUSES, 11)),
    ROW("mutant-gone-is-done", "a release that found no key is reported as done",
        OF(mutant_gone_is_done), SLOW(2), BREAKS_ONLY(REPORTED, 8)),
    ROW("planted-late-timer", "the engine wakes a hold later than it asked for",
        PLANTED(LATE_TIMER), .never_renews = true, BREAKS_ONLY(WAKES, 4)),
    ROW("planted-old-time", "the engine gives a hold an old time", PLANTED(OLD_TIME),
        .tries_once = true, .never_renews = true, BREAKS_ONLY(TELLS_LOSS, 5)),
    ROW("planted-no-max-hold", "the engine forgets how long the lock may be held at most",
        .terms = { .max_hold_ms = 37 }, PLANTED(NO_MAX_HOLD), BREAKS_ONLY(MAX_HOLD, 7)),

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
        OF(set_nx_ex), BY_RULES_2S(literal_s),
        .invariants = INVARIANTS_EXCLUSION | BWL_INVARIANT_HONEST, .fine = true,
        .clocks.pace_of = { 99 }),
    ROW("rate-jedis", "a waiter's clock is fast, and it finds the stamp over when its holder does",
        OF_JEDIS, EXCLUSION, .fine = true, .clocks.pace_of = { 100, 106 }),
    ROW("limit-rate-too-slow", "a clock slower than the drift allowance allows: a holder too many",
        .never_renews = true, .fine = true, .clocks.pace_of = { 90 }, SLOW(2),
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-rate-changes", "the same, with a clock that was right at first",
        .clocks.rate_pace = 90, RATE(1), BREAKS_ONLY(HONEST, 4)),
    ROW("limit-rate-set-nx-ex", "one per cent and a bit: of a lease of 2 s, 3 are too many",
        OF(set_nx_ex), BY_RULES_2S(literal_s), .fine = true, .clocks.pace_of = { 97 },
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-rate-jedis", "a waiter's clock is too fast, and it takes a lock that is held",
        OF_JEDIS, .clocks.pace_of = { 100, 120 }, BREAKS_EXCLUSION(14)),
    ROW("mutant-no-drift-rate", "no drift allowance, and a client's clock is slow",
        OF(mutant_no_drift), .never_renews = true, .fine = true, .clocks.pace_of = { 94 }, SLOW(2),
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("mutant-no-drift-rate-changes", "the same, seen as soon as the clock has become slow",
        OF(mutant_no_drift), RATE(1), BREAKS_ONLY(HONEST, 4)),

    /* ---- a server that reports a restart ----------------------------------------------------- */
    ROW("restart-reported", "a server restarts empty, another by its run_id: what was held is lost",
        .server.has_run_id = true, .invariants = INVARIANTS_REPORTED, SLOW(1), LOSS(1), RESTART(1)),
    ROW("restore-reported",
        "... with an older state: our key there proves nothing, and is taken back",
        .server.has_run_id = true, .invariants = INVARIANTS_REPORTED, SLOW(1), RESTORE(1)),
    ROW("failover-reported", "another server takes over: what the first one gave is lost",
        .server.has_run_id = true, .invariants = INVARIANTS_REPORTED, SLOW(1), FAILOVER(1)),
    ROW("planted-same-server",
        "the engine ignores the run_id: an old key counts as proof of an old hold",
        .server.has_run_id = true, PLANTED(SAME_SERVER), .invariants = INVARIANTS_REPORTED,
        RESTORE(1), BREAKS(HEEDS_NO, 10)),

    /* ---- numbers in a wrong unit ------------------------------------------------------------- */
    ROW("planted-ms-as-seconds",
        "the same slip in SET: a lease a thousand times as long as was meant",
        PLANTED(MS_AS_SECONDS), BREAKS_ONLY(HAS_END, 2)),
    ROW("planted-seconds-as-ms",
        "seconds where ms are meant: the lock is over long before its holder thinks so",
        PLANTED(SECONDS_AS_MS), .never_renews = true, BREAKS_ONLY(ONE_HOLDER, 7)),

    /* ---- leases that differ ------------------------------------------------------------------ */
    ROW("setnx-expire-watch-longer",
        "a waiter repairs with a lease longer than the holder's: it ends later",
        OF(setnx_expire_watch), BY_RULES_2S(token_s), .lease_of_ms = { 2000, 4000 }, EXCLUSION,
        SLOW(1)),
    ROW("setnx-expire-watch-shorter",
        "a waiter repairs with a lease shorter than the holder's, which ends too soon",
        OF(setnx_expire_watch), BY_RULES_2S(token_s), .lease_of_ms = { 4000, 2000 },
        BREAKS_ONLY(HONEST, 13)),
};

const bwl_scenario_table bwl_scenarios_of_world = { table, sizeof table / sizeof table[0] };
