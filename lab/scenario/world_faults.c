/*
 * world_faults.c -- servers that restart with older data, fail over or evict; foreign values; wall
 * clocks; and the invariants beyond the limits of a lease.  See table.h.
 */
#include "lab/mutant/token.h"
#include "lab/scenario/tables.h"

/* The server loses data: the invariants that one client can still know. */
enum {
    INVARIANTS_ONE_CLIENT = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_CREATES | BWL_INVARIANT_HAS_END |
                            BWL_INVARIANT_TOLD | BWL_INVARIANT_HEEDS_NO | BWL_INVARIANT_TAKEN_BACK |
                            BWL_INVARIANT_NOT_STUCK | BWL_INVARIANT_CLEAN_END |
                            BWL_INVARIANT_LOST_WAKE_UP | BWL_INVARIANT_FOREIGN,
};

static const bwl_scenario table[] = {
    /* ---- what must hold ---------------------------------------------------------------------- */
    ROW("server-older", "the server comes back with its data of any earlier time",
        .invariants = INVARIANTS_ONE_CLIENT, SLOW(1), LOSS(1), RESTORE(1)),
    ROW("server-gives-way", "a replica without the last write takes over",
        .invariants = INVARIANTS_ONE_CLIENT, SLOW(1), LOSS(1), FAILOVER(1)),
    ROW("server-stops", "the server stops and goes on at any time", STOP(1)),
    ROW("server-evicts", "the server evicts the key", .invariants = INVARIANTS_ONE_CLIENT, SLOW(1),
        LOSS(1), EVICTION(1)),
    ROW("stranger", "another program sets the key: its value is not changed",
        .invariants = INVARIANTS_ONE_CLIENT, SLOW(1), LOSS(1), STRANGER(1)),
    ROW("times-of-day", "the clients' times of day are wrong, and step: no client uses them",
        .clocks.skew_ms = { 0, 100000, -100000 }, SLOW(1), WALL(1)),
    ROW("three-everything-once", "three clients: slow, loss and crash, each once", .clients = 3,
        .is_vast = true, SLOW(1), LOSS(1), CRASH(1)),
    ROW("for-ever-loss-slow",
        "endless rounds: every call can end, and some client can get the lock", .rounds = BWL_ANY,
        .wait_ms = BWL_NEVER, .invariants = BWL_INVARIANTS_USUAL, SLOW(1), LOSS(1)),
    ROW("fenced", "a holder that was stopped writes: the resource rejects it by the fence",
        .protocol = &bwl_fenced, .server.fences = true, .invariants = BWL_INVARIANT_FENCE, SLOW(3),
        WRITE(2)),
    ROW("fenced-forgets", "the server forgets the holder, but not the fence count",
        .protocol = &bwl_fenced, .server.fences = true, .invariants = BWL_INVARIANT_FENCE, SLOW(1),
        RESTART(1), WRITE(3)),

    /* ---- the limits of a lease without a queue and without a fence --------------------------- */
    ROW("limit-server-older",
        "the server comes back with older data, in which another client had the lock", .rounds = 2,
        RESTORE(1), BREAKS_ONLY(ONE_HOLDER, 16)),
    ROW("limit-server-gives-way", "another server takes over before it has heard of the lock",
        FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-server-evicts", "the server evicts the key", EVICTION(1),
        BREAKS_ONLY(ONE_HOLDER, 7)),
    ROW("limit-stranger",
        "another program sets the key without an expiry: no client gets the lock any more",
        .rounds = BWL_ANY, .tries_once = true, STRANGER(1), BREAKS_ONLY(LIVE, 1)),
    ROW("limit-first-come", "a client that polls overtakes one that has waited longer", .rounds = 2,
        BREAKS_ONLY(FIRST_COME, 10)),
    ROW("limit-late-write", "without a fence, the write of a holder that was stopped is taken",
        SLOW(4), WRITE(2), BREAKS_ONLY(FENCE, 11)),

    /* ---- planted faults ---------------------------------------------------------------------- */
    ROW("planted-fence-forgets",
        "the server counts fences from 1 after a restart: a stale holder's write is accepted",
        .protocol = &bwl_fenced, .server.fences = true, .rounds = 2,
        .mutations = BWL_MUTATION_FENCE_FORGETS, RESTART(1), WRITE(2), BREAKS_ONLY(FENCE, 9)),
    ROW("planted-delete-of-stranger",
        "the server deletes without comparing, and what was there is another program's",
        .mutations = BWL_MUTATION_DELETE_BLIND, STRANGER(1), BREAKS_ONLY(FOREIGN, 6)),
    ROW("mutant-sleeps",
        "a client that finds the lock busy waits for a message that never "
        "comes",
        .protocol = &bwl_mutant_sleeps, .wait_ms = 2000, BREAKS_ONLY(LOST_WAKE_UP, 8)),
    ROW("mutant-asks-on", "a client without a reply repeats its request for ever",
        .protocol = &bwl_mutant_asks_on, .rounds = BWL_ANY, .wait_ms = BWL_NEVER, LOSS(1),
        BREAKS_ONLY(ENDS, 2)),
    ROW("mutant-hammers", "a client that finds the lock busy tries again without a pause",
        .protocol = &bwl_mutant_hammers, BREAKS_ONLY(PAUSES, 11)),
    ROW("mutant-gone-is-done", "a release that found no key is reported as done",
        .protocol = &bwl_mutant_gone_is_done, SLOW(2), BREAKS_ONLY(TOLD, 8)),
    ROW("planted-late-timer", "the engine wakes a hold later than it asked for",
        .mutations = BWL_MUTATION_LATE_TIMER, .never_renews = true, BREAKS_ONLY(WAKES, 4)),
    ROW("planted-old-time", "the engine gives a hold an old time",
        .mutations = BWL_MUTATION_OLD_TIME, .tries_once = true, .never_renews = true,
        BREAKS_ONLY(TELLS_LOSS, 5)),
    ROW("planted-no-max-hold", "the engine forgets how long the lock may be held at most",
        .terms = { .max_hold_ms = 37 }, .mutations = BWL_MUTATION_NO_MAX_HOLD,
        BREAKS_ONLY(MAX_HOLD, 7)),
};

const bwl_scenario_table bwl_scenarios_of_world = { table, sizeof table / sizeof table[0] };
