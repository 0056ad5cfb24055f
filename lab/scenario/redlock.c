/*
 * redlock.c -- the scenarios with several servers.
 *
 * Nothing breaks where no server loses data and no clock jumps.  Each other scenario violates an
 * assumption of redlock by the smallest budget, or plants a fault.
 */
#include "lab/mutant/mutant.h"
#include "lab/scenario/table.h"
#include "lab/scenario/tables.h"
#include "protocol/quorum.h"

#define THREE_SERVERS .servers = 3, .clients = 2
#define ONE_HOLDER    .invariants = BWL_INVARIANT_ONE_HOLDER, .breaks = BWL_INVARIANT_ONE_HOLDER

static const bwl_scenario table[] = {
    ROW("calm", "two clients wait for the lock", THREE_SERVERS, .wait_ms = 20),
    ROW("rounds", "two clients, twice each", THREE_SERVERS, .rounds = 2),
    ROW("loss", "a connection breaks", LOSS(1), THREE_SERVERS),
    ROW("slow", "time passes although a step is due", SLOW(2), THREE_SERVERS),
    ROW("crash", "a client crashes", CRASH(1), THREE_SERVERS),
    ROW("denial", "a server returns a temporary error", DENIAL(1), THREE_SERVERS),
    ROW("cancel", "the caller cancels", CANCEL(1), THREE_SERVERS),
    ROW("stop", "a server stops and goes on at any time", STOP(1), THREE_SERVERS),
    ROW("fast", "the servers' clocks run as fast as the drift allowance covers", .wait_ms = 20,
        .clocks.server_pace = 107, THREE_SERVERS),
    ROW("covered", "the servers' clocks run much too fast, and drift= covers that", .wait_ms = 40,
        .never_renews = true, .clocks.server_pace = 130, .options.drift_ppm = 300000,
        THREE_SERVERS),
    ROW("three", "three clients", .servers = 3, .clients = 3),
    ROW("three-loss", "three clients, and a connection breaks", LOSS(1), .is_vast = true,
        .servers = 3, .clients = 3),
    ROW("three-crash", "three clients, and one crashes", CRASH(1), .is_vast = true, .servers = 3,
        .clients = 3),
    ROW("slow-crash-loss", "time passes, a client crashes and a connection breaks", SLOW(1),
        CRASH(1), LOSS(1), .is_vast = true, THREE_SERVERS),
    ROW("five", "five servers", .servers = 5, .clients = 2),
    ROW("restart-waits", "a server restarts empty and has no vote for a lease",
        .server.young_wait = true, .wait_ms = 20, RESTART(1), THREE_SERVERS),

    ROW("resolve", "connections break and servers return errors while an attempt repeats",
        .terms.answer_ms = 16, .never_renews = true, LOSS(2), DENIAL(3), .servers = 3,
        .clients = 1),

    /* The assumptions: without each of them, two clients hold the lock. */
    ROW("restart", "a server restarts empty and votes at once", RESTART(1), .steps = 11, ONE_HOLDER,
        THREE_SERVERS),
    ROW("jump", "the clock of a server jumps by a lease", JUMP(1), .steps = 11, ONE_HOLDER,
        THREE_SERVERS),
    ROW("too-fast", "the servers' clocks run faster than the drift allowance covers", .wait_ms = 40,
        .never_renews = true, .clocks.server_pace = 130, ONE_HOLDER, THREE_SERVERS),
    ROW("pause", "a holder stops for longer than its lease and works on", SLOW(2),
        .invariants = BWL_INVARIANT_NO_OVERLAP, .breaks = BWL_INVARIANT_NO_OVERLAP, THREE_SERVERS),

    /* Planted. */
    ROW("no-undo", "a failed attempt leaves its keys", OF(mutant_no_undo), THREE_SERVERS,
        BREAKS(TAKEN_BACK, 9)),
    ROW("of-answering", "a majority of the servers that answered", OF(mutant_of_answering), LOSS(2),
        ONE_HOLDER, THREE_SERVERS),
    ROW("no-elapsed", "the lease counts from the majority", OF(mutant_no_elapsed), SLOW(2),
        ONE_HOLDER, THREE_SERVERS),
    ROW("overwrites", "a renewal overwrites any owner", OF(mutant_overwrites), CRASH(1),
        THREE_SERVERS, BREAKS_ONLY(OWN_KEY, 18)),
    ROW("undo-and-ask", "keys of an attempt that goes on are deleted", OF(mutant_undo_and_ask),
        .terms.answer_ms = 16, .never_renews = true, LOSS(2), DENIAL(3), .servers = 3, .clients = 1,
        BREAKS(HONEST, 23)),
};

size_t bwl_redlock_scenarios_count(void)
{
    return sizeof table / sizeof table[0];
}

bwl_scenario bwl_redlock_scenario_at(size_t i)
{
    enum { JUMP_MS = 30 };
    bwl_scenario s = table[i];

    assert(i < bwl_redlock_scenarios_count());
    s.protocol       = s.protocol != NULL ? s.protocol : &bwl_redlock;
    s.tries_once     = s.wait_ms == 0;
    s.clocks.jump_ms = JUMP_MS;
    return bwl_scenario_complete(s);
}
