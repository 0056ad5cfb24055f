/*
 * queue_vast.c -- bowline's lock with a queue where everything goes wrong at once: worlds
 * of three clients, for walks at random.  See table.h.
 */
#include "lab/model/queue.h"
#include "lab/scenario/tables.h"
#include "protocol/protocol.h"

enum {
    EVERY_KEY =
        1u << 0 | 1u << BWL_MODEL_QUEUE | 1u << BWL_MODEL_HEARTBEATS | 1u << BWL_MODEL_COUNT,
    HOUR_MS = 3600000,
};

/* What goes wrong with clients, and on the way; and what callers do. */
#define OF_CLIENTS                                                                               \
    [BWL_SLOW] = BWL_ANY, [BWL_LOSS] = 3, [BWL_DENIAL] = 2, [BWL_REFUSAL] = 1, [BWL_CANCEL] = 3, \
    [BWL_EXTEND_BY_CALLER] = 2, [BWL_LOST_PUSH] = 2, [BWL_NOSCRIPT] = 2, [BWL_SILENCE] = 2,      \
    [BWL_BORROWER] = 2, [BWL_YIELD] = 3

static const bwl_scenario table[] = {
    ROW("queue-everything",
        "three clients, three rounds, and everything goes wrong, some of it three times", OF_QUEUE,
        .clients = 3, .rounds = 3, .is_vast = true, .fine = true, .chances = true,
        .budget = { OF_CLIENTS, [BWL_CRASH] = 2, [BWL_RATE] = 2, [BWL_WALL] = 1, [BWL_WRITE] = 3 }),
    ROW("queue-everything-long",
        "... with a claim that is shorter than the lease, and who is silent is passed over",
        .protocol = &bwl_queue, .terms = { .lease_ms = 3000, .answer_ms = 1500 }, .wait_ms = 9000,
        .extend_ms = 2000, .invariants = INVARIANTS_QUEUE, .clients = 3, .rounds = 3,
        .queue.ages = true, .is_vast = true, .fine = true, .chances = true,
        .budget = { OF_CLIENTS, [BWL_CRASH] = 2, [BWL_RATE] = 2 }),
    ROW("queue-everything-late",
        "... no old connection is ended, one is passed over at a time, one tries once", OF_QUEUE,
        .clients = 3, .rounds = 3, .queue.never_kills = true, .queue.serve_max = 1,
        .tries_once_of = 1u << 2, .is_vast = true, .fine = true, .chances = true,
        .budget = { OF_CLIENTS, [BWL_CRASH] = 2 }),
    ROW("queue-everything-back", "... and the server's clock is set back, by an hour",
        .protocol = &bwl_queue, .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_HAS_END,
        .clocks.jump_ms = -HOUR_MS, .clients = 3, .rounds = 3, .is_vast = true, .chances = true,
        .budget = { OF_CLIENTS, [BWL_CRASH] = 2, [BWL_JUMP] = 2 }),
    ROW("queue-everything-on", "... or set on, by an hour: locks end, and who waits seems dead",
        .protocol = &bwl_queue, .invariants = INVARIANTS_FORGETS, .clocks.jump_ms = HOUR_MS,
        .clients = 3, .rounds = 3, .queue.ages = true, .is_vast = true, .chances = true,
        .budget = { OF_CLIENTS, [BWL_CRASH] = 2, [BWL_JUMP] = 2 }),
    ROW("queue-everything-forgets",
        "... and the server forgets, gives way, throws away, is written by others",
        .protocol = &bwl_queue, .invariants = INVARIANTS_FORGETS, .server.evicts = EVERY_KEY,
        .server.has_run_id = true, .clients = 3, .rounds = 3, .is_vast = true, .chances = true,
        .budget = { OF_CLIENTS, [BWL_CRASH] = 1, [BWL_RATE] = 2, [BWL_RESTART] = 1,
                    [BWL_RESTORE] = 1, [BWL_FAILOVER] = 1, [BWL_EVICTION] = 2,
                    [BWL_STRANGER] = 1 }),
    ROW("queue-everything-restarts", "... and the server is started again, with all that it had",
        .protocol = &bwl_queue, .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_KEEPS,
        .server.has_run_id = true, .server.keeps_all = true, .clients = 3, .rounds = 3,
        .is_vast = true, .chances = true,
        .budget = { OF_CLIENTS, [BWL_CRASH] = 2, [BWL_RATE] = 2, [BWL_RESTORE] = 2 }),
};

const bwl_scenario_table bwl_scenarios_of_queue_vast = { table, sizeof table / sizeof table[0] };
