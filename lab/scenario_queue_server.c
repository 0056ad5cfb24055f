/*
 * scenario_queue_server.c -- bowline's lock with a queue on a server that throws away one of its
 * keys, whose clock is set by an hour, and that forgets who was not heard of for a minute.  See
 * scenario.h.
 */
#include "lab/model_queue.h"
#include "lab/scenario.h"
#include "protocol/protocol.h"

enum {
    LAWS_QUEUE =
        (BWL_LAWS_USUAL | BWL_LAW_FIRST_COME | BWL_LAW_FENCE) & ~(unsigned)BWL_LAWS_BACKWARDS,
    /* Where a lock ends before its time, as far as one client can know. */
    LAWS_ENDS_EARLY = LAWS_QUEUE & ~(unsigned)(BWL_LAW_ONE_HOLDER | BWL_LAW_ONE_WORKER |
                                               BWL_LAW_HONEST | BWL_LAW_KEEPS | BWL_LAW_FIRST_COME),
};

static const bwl_scenario table[] = {
    /* ---- what must hold ---------------------------------------------------------------------- */
    { .name     = "queue-evicts-line",
      .story    = "the server throws the line away: its tickets are kept, but may be overtaken",
      .protocol = &bwl_queue,
      .laws     = LAWS_QUEUE & ~(unsigned)BWL_LAW_FIRST_COME,
      .evicts   = 1u << BWL_MODEL_QUEUE,
      .budget   = { [BWL_SLOW] = 1, [BWL_EVICTION] = 1 } },
    { .name     = "queue-evicts-beats",
      .story    = "... or when those were heard of who wait: all of them seem to live",
      .protocol = &bwl_queue,
      .laws     = LAWS_QUEUE,
      .evicts   = 1u << BWL_MODEL_BEATS,
      .budget   = { [BWL_SLOW] = 1, [BWL_CRASH] = 1, [BWL_EVICTION] = 1 } },
    { .name     = "queue-evicts-count",
      .story    = "... or the count of fences: it goes on at the time of day",
      .protocol = &bwl_queue,
      .laws     = LAWS_QUEUE,
      .evicts   = 1u << BWL_MODEL_COUNT,
      .budget   = { [BWL_SLOW] = 1, [BWL_EVICTION] = 1, [BWL_WRITE] = 2 } },
    { .name     = "queue-hour-back",
      .story    = "the server's clock is set back by an hour: waiting takes longer, nothing else",
      .protocol = &bwl_queue,
      .laws     = LAWS_QUEUE & ~(unsigned)BWL_LAW_HAS_END,
      .jump_ms  = -3600000,
      .never_renews = true,
      .budget       = { [BWL_SLOW] = 1, [BWL_JUMP] = 1, [BWL_CANCEL] = 1 } },
    { .name     = "queue-hour-on",
      .story    = "the server's clock is set on by an hour: the lock ends, who waits seems dead",
      .protocol = &bwl_queue,
      .laws     = LAWS_ENDS_EARLY,
      .jump_ms  = 3600000,
      .ages     = true,
      .budget   = { [BWL_SLOW] = 1, [BWL_JUMP] = 1, [BWL_CANCEL] = 1 } },
    { .name         = "queue-crash-forgotten",
      .story        = "all who waited are dead: a minute later nothing is left of them",
      .protocol     = &bwl_queue,
      .laws         = LAWS_QUEUE,
      .keep_ms      = 60000,
      .never_renews = true,
      .budget       = { [BWL_CRASH] = 2 } },
    { .name          = "queue-looks-at-the-dead",
      .story         = "one waits and dies, one has the lock and dies, one tries once",
      .protocol      = &bwl_queue,
      .laws          = LAWS_QUEUE,
      .clients       = 3,
      .never_renews  = true,
      .tries_once_of = 1u << 2,
      .budget        = { [BWL_CRASH] = 2, [BWL_CANCEL] = 1 } },
    { .name          = "queue-looks-slowly",
      .story         = "one waits and loses its connection, or is late; one tries, twice",
      .protocol      = &bwl_queue,
      .laws          = LAWS_QUEUE,
      .rounds        = 2,
      .never_renews  = true,
      .tries_once_of = 1u << 1,
      .budget        = { [BWL_SLOW] = 1, [BWL_LOSS] = 1 } },
    /* ---- what it cannot give ----------------------------------------------------------------- */
    { .name     = "queue-limit-evicts-line",
      .story    = "the server throws the line away: who comes next overtakes who was in it",
      .protocol = &bwl_queue,
      .laws     = BWL_LAW_FIRST_COME,
      .clients  = 3,
      .evicts   = 1u << BWL_MODEL_QUEUE,
      .budget   = { [BWL_EVICTION] = 1 },
      .breaks   = BWL_LAW_FIRST_COME,
      .steps    = 10 },
    { .name     = "queue-limit-clock-on",
      .story    = "the server's clock is set on: the lease is over, and the holder does not know",
      .protocol = &bwl_queue,
      .laws     = BWL_LAW_ONE_HOLDER,
      .jump_ms  = 3600000,
      .budget   = { [BWL_JUMP] = 1 },
      .breaks   = BWL_LAW_ONE_HOLDER,
      .steps    = 7 },
    /* ---- planted ----------------------------------------------------------------------------- */
    { .name          = "queue-planted-busy-for-dead",
      .story         = "who tries once is told busy, and only the dead have waited",
      .protocol      = &bwl_queue,
      .laws          = BWL_LAW_TOLD,
      .clients       = 3,
      .never_renews  = true,
      .tries_once_of = 1u << 2,
      .twists        = BWL_TWIST_BUSY_FOR_DEAD,
      .budget        = { [BWL_CRASH] = 2 },
      .breaks        = BWL_LAW_TOLD,
      .steps         = 10 },
};

const bwl_scenario_table bwl_scenarios_of_queue_server = { table, sizeof table / sizeof table[0] };
