/*
 * synced.c -- a lock that needs the acknowledgement of replicas, on a server that fails over to a
 * replica without the last change.  See table.h.
 *
 * Without the replicas, limit-server-gives-way gives two holders in seven steps.  For the command
 * to the replicas, DENIAL means that too few have acknowledged.
 */
#include "lab/mutant/synced.h"
#include "lab/scenario/tables.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"

enum {
    INVARIANTS_TOKEN = BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS,
    /* A server that loses its waiters breaks no promise to a holder. */
    INVARIANTS_GIVES_WAY = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_FIRST_COME,
};

#define SYNCED(NAME) .protocol = &bwl_synced_##NAME, .options.replicas = 1
#define SYNCED_TOKEN SYNCED(token), .invariants = INVARIANTS_TOKEN

static const bwl_scenario table[] = {
    /* ---- what must hold ---------------------------------------------------------------------- */
    ROW("synced-faults", "replicas are asked, and too few have it; connections break", SYNCED_TOKEN,
        SLOW(1), LOSS(1), DENIAL(1)),
    ROW("synced-refused", "WAIT is not permitted: the lock is released, and not tried again",
        SYNCED_TOKEN, LOSS(1), REFUSAL(2)),
    ROW("synced-gives-way",
        "another server takes over, which lacks the last change, and so no lock", SYNCED_TOKEN,
        SLOW(1), DENIAL(1), FAILOVER(1)),
    ROW("synced-gives-way-loss",
        "... and a connection breaks: of what was written there the next one says nothing",
        SYNCED_TOKEN, .rounds = 2, LOSS(1), FAILOVER(1)),
    ROW("synced-queue-gives-way",
        "... with a queue: another client has written the grant of a waiter", SYNCED(queue),
        .invariants = INVARIANTS_GIVES_WAY, SLOW(1), FAILOVER(1)),
    ROW("synced-queue-gives-way-too-few",
        "... and too few replicas have it, so that it is given on", SYNCED(queue),
        .invariants = INVARIANTS_GIVES_WAY, DENIAL(1), FAILOVER(1)),
    ROW("synced-queue-faults", "... and connections break, pushes are lost", SYNCED(queue),
        .invariants = INVARIANTS_QUEUE, LOSS(1), DENIAL(1), CANCEL(1), LOST_PUSH(1)),
    ROW("synced-queue-yields", "... and the holder yields", SYNCED(queue),
        .invariants = INVARIANTS_GIVES_WAY, YIELD(1), FAILOVER(1)),
    /* ---- planted ----------------------------------------------------------------------------- */
    ROW("synced-planted-deaf", "any number of replicas counts as enough", SYNCED(deaf), DENIAL(1),
        FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 11)),
    ROW("synced-planted-alone", "replicas are asked for the lock, and not for its extensions",
        SYNCED(alone), FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 21)),
    ROW("synced-planted-early", "a push counts as a yes of the own connection", SYNCED(early),
        .rounds = 2, FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 26)),
};

const bwl_scenario_table bwl_scenarios_of_synced = { table, sizeof table / sizeof table[0] };
