/*
 * queue_server.c -- bowline's lock with a queue on a server that throws away one of its
 * keys, whose clock is set by an hour, and that forgets who was not heard of for a minute.  See
 * table.h.
 */
#include "lab/model/queue.h"
#include "lab/scenario/tables.h"
#include "protocol/protocol.h"

static const bwl_scenario table[] = {
    /* ---- what must hold ---------------------------------------------------------------------- */
    ROW("queue-evicts-line",
        "the server throws the line away: its tickets are kept, but may be overtaken",
        .protocol      = &bwl_queue,
        .invariants    = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_FIRST_COME,
        .server.evicts = 1u << BWL_MODEL_QUEUE, .budget = { [BWL_SLOW] = 1, [BWL_EVICTION] = 1 }),
    ROW("queue-evicts-beats", "... or when those were heard of who wait: all of them seem to live",
        OF_QUEUE, .server.evicts = 1u << BWL_MODEL_HEARTBEATS,
        .budget = { [BWL_SLOW] = 1, [BWL_CRASH] = 1, [BWL_EVICTION] = 1 }),
    ROW("queue-evicts-count", "... or the count of fences: it goes on at the time of day", OF_QUEUE,
        .server.evicts = 1u << BWL_MODEL_COUNT,
        .budget        = { [BWL_SLOW] = 1, [BWL_EVICTION] = 1, [BWL_WRITE] = 2 }),
    ROW("queue-hour-back",
        "the server's clock is set back by an hour: waiting takes longer, nothing else",
        .protocol = &bwl_queue, .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_HAS_END,
        .clocks.jump_ms = -3600000, .never_renews = true,
        .budget = { [BWL_SLOW] = 1, [BWL_JUMP] = 1, [BWL_CANCEL] = 1 }),
    ROW("queue-hour-on",
        "the server's clock is set on by an hour: the lock ends, who waits seems dead",
        .protocol = &bwl_queue, .invariants = INVARIANTS_FORGETS, .clocks.jump_ms = 3600000,
        .queue.ages = true, .budget = { [BWL_SLOW] = 1, [BWL_JUMP] = 1, [BWL_CANCEL] = 1 }),
    ROW("queue-crash-forgotten", "all who waited are dead: a minute later nothing is left of them",
        OF_QUEUE, .queue.keep_ms = 60000, .never_renews = true, .budget = { [BWL_CRASH] = 2 }),
    ROW("queue-looks-at-the-dead", "one waits and dies, one has the lock and dies, one tries once",
        OF_QUEUE, .clients = 3, .never_renews = true, .tries_once_of = 1u << 2,
        .budget = { [BWL_CRASH] = 2, [BWL_CANCEL] = 1 }),
    ROW("queue-looks-slowly", "one waits and loses its connection, or is late; one tries, twice",
        OF_QUEUE, .rounds = 2, .never_renews = true, .tries_once_of = 1u << 1,
        .budget = { [BWL_SLOW] = 1, [BWL_LOSS] = 1 }),
    ROW("queue-restarts-with-all",
        "the server is started again and has kept all: what a holder was told stays true",
        .protocol = &bwl_queue, .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_KEEPS,
        .server.has_run_id = true, .server.keeps_all = true,
        .budget = { [BWL_SLOW] = 1, [BWL_RESTORE] = 1, [BWL_CANCEL] = 1 }),
    ROW("queue-restarts-with-all-long", "... with a claim that is shorter than the lease",
        .protocol = &bwl_queue, .terms = { .lease_ms = 3000, .answer_ms = 1500 }, .wait_ms = 4500,
        .extend_ms = 2000, .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_KEEPS,
        .server.has_run_id = true, .server.keeps_all = true,
        .budget = { [BWL_SLOW] = 1, [BWL_RESTORE] = 1, [BWL_EXTEND_BY_CALLER] = 1 }),
    /* ---- what it cannot give ----------------------------------------------------------------- */
    ROW("queue-limit-evicts-line",
        "the server throws the line away: who comes next overtakes who was in it",
        .protocol = &bwl_queue, .clients = 3, .server.evicts = 1u << BWL_MODEL_QUEUE,
        .budget = { [BWL_EVICTION] = 1 }, BREAKS_ONLY(FIRST_COME, 10)),
    ROW("queue-limit-clock-on",
        "the server's clock is set on: the lease is over, and the holder does not know",
        .protocol = &bwl_queue, .clocks.jump_ms = 3600000, .budget = { [BWL_JUMP] = 1 },
        BREAKS_ONLY(ONE_HOLDER, 7)),
    /* ---- planted ----------------------------------------------------------------------------- */
    ROW("queue-planted-busy-for-dead", "who tries once is told busy, and only the dead have waited",
        .protocol = &bwl_queue, .clients = 3, .never_renews = true, .tries_once_of = 1u << 2,
        .mutations = BWL_MUTATION_BUSY_FOR_DEAD, .budget = { [BWL_CRASH] = 2 },
        BREAKS_ONLY(TOLD, 10)),
    ROW("queue-planted-gives-up-at-once",
        "what is lost is taken back at once, whatever its holder was told", .protocol = &bwl_queue,
        .server.has_run_id = true, .server.keeps_all = true,
        .mutations = BWL_MUTATION_GIVES_UP_AT_ONCE, .budget = { [BWL_RESTORE] = 1 },
        BREAKS_ONLY(HONEST, 7)),
};

const bwl_scenario_table bwl_scenarios_of_queue_server = { table, sizeof table / sizeof table[0] };
