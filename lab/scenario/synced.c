/*
 * synced.c -- a lock that counts only when replicas have it, on a server whose place a
 * replica takes that has not heard of the last change.  See table.h.
 *
 * Without this, limit-server-gives-way is two holders in seven steps.  DENIAL is, of the question
 * to the replicas, that too few of them have it.
 */
#include "lab/mutant/synced.h"
#include "lab/scenario/tables.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"

enum {
    INVARIANTS_TOKEN = BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS,
    /* A server that forgets who waits breaks no promise to who holds. */
    INVARIANTS_GIVES_WAY = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_FIRST_COME,
};

static const bwl_scenario table[] = {
    /* ---- what must hold ---------------------------------------------------------------------- */
    ROW("synced-faults", "replicas are asked, and too few have it; connections break",
        .protocol = &bwl_synced_token, .terms = { .replicas = 1 }, .invariants = INVARIANTS_TOKEN,
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1, [BWL_DENIAL] = 1 }),
    ROW("synced-refused",
        "nobody may ask for replicas: what was won is given back, and tried no more",
        .protocol = &bwl_synced_token, .terms = { .replicas = 1 }, .invariants = INVARIANTS_TOKEN,
        .budget = { [BWL_LOSS] = 1, [BWL_REFUSAL] = 2 }),
    ROW("synced-gives-way",
        "another server takes over, which lacks the last change, and so no lock",
        .protocol = &bwl_synced_token, .terms = { .replicas = 1 }, .invariants = INVARIANTS_TOKEN,
        .budget = { [BWL_SLOW] = 1, [BWL_DENIAL] = 1, [BWL_FAILOVER] = 1 }),
    ROW("synced-gives-way-loss",
        "... and a connection breaks: of what was written there the next one says nothing",
        .protocol = &bwl_synced_token, .terms = { .replicas = 1 }, .invariants = INVARIANTS_TOKEN,
        .rounds = 2, .budget = { [BWL_LOSS] = 1, [BWL_FAILOVER] = 1 }),
    ROW("synced-queue-gives-way",
        "... with a line: what is given to who waits was written by somebody else",
        .protocol = &bwl_synced_queue, .terms = { .replicas = 1 },
        .invariants = INVARIANTS_GIVES_WAY, .budget = { [BWL_SLOW] = 1, [BWL_FAILOVER] = 1 }),
    ROW("synced-queue-gives-way-too-few",
        "... and too few replicas have it, so that it is given on", .protocol = &bwl_synced_queue,
        .terms = { .replicas = 1 }, .invariants = INVARIANTS_GIVES_WAY,
        .budget = { [BWL_DENIAL] = 1, [BWL_FAILOVER] = 1 }),
    ROW("synced-queue-faults", "... and connections break, pushes are lost",
        .protocol = &bwl_synced_queue, .terms = { .replicas = 1 }, .invariants = INVARIANTS_QUEUE,
        .budget = { [BWL_LOSS] = 1, [BWL_DENIAL] = 1, [BWL_CANCEL] = 1, [BWL_LOST_PUSH] = 1 }),
    ROW("synced-queue-yields", "... and who has the lock gives it to who waits",
        .protocol = &bwl_synced_queue, .terms = { .replicas = 1 },
        .invariants = INVARIANTS_GIVES_WAY, .budget = { [BWL_YIELD] = 1, [BWL_FAILOVER] = 1 }),
    /* ---- planted ----------------------------------------------------------------------------- */
    ROW("synced-planted-deaf", "any number of replicas is taken for enough",
        .protocol = &bwl_synced_deaf, .terms = { .replicas = 1 },
        .budget = { [BWL_DENIAL] = 1, [BWL_FAILOVER] = 1 }, BREAKS_ONLY(ONE_HOLDER, 11)),
    ROW("synced-planted-alone", "replicas are asked for the lock, and not for its extensions",
        .protocol = &bwl_synced_alone, .terms = { .replicas = 1 }, .budget = { [BWL_FAILOVER] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 21)),
    ROW("synced-planted-early", "a push is taken for a yes of our own connection",
        .protocol = &bwl_synced_early, .terms = { .replicas = 1 }, .rounds = 2,
        .budget = { [BWL_FAILOVER] = 1 }, BREAKS_ONLY(ONE_HOLDER, 26)),
};

const bwl_scenario_table bwl_scenarios_of_synced = { table, sizeof table / sizeof table[0] };
