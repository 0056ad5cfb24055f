/*
 * tables.h -- the tables of scenarios, one per file.
 */
#pragma once

#include "lab/world/scenario.h"
#include <stddef.h>

/* A row of a table: a name, a story, and what differs from the defaults. */
#define ROW(NAME, STORY, ...)                         \
    {                                                 \
        .name = (NAME), .story = (STORY), __VA_ARGS__ \
    }

/* What differs in many rows. */
#define OF(PROTOCOL)     .protocol = &bwl_##PROTOCOL
#define PLANTED(MISTAKE) .mutations = BWL_MUTATION_##MISTAKE
#define EXCLUSION        .invariants = INVARIANTS_EXCLUSION
#define STALE            .server.stale = true
#define FOR_EVER         .rounds = BWL_ANY, .tries_once = true
#define ENDLESS          .rounds = BWL_ANY, .wait_ms = BWL_NEVER
#define AHEAD(MS)        .clocks.skew_ms = { 0, MS } /* the clock of the second client */

/* The invariant that breaks, and in how many steps; ONLY: no other one is checked. */
#define BREAKS(INVARIANT, STEPS) .breaks = BWL_INVARIANT_##INVARIANT, .steps = (STEPS)
#define BREAKS_ONLY(INVARIANT, STEPS) \
    .invariants = BWL_INVARIANT_##INVARIANT, BREAKS(INVARIANT, STEPS)

#define BREAKS_EXCLUSION(STEPS) EXCLUSION, BREAKS(ONE_HOLDER, STEPS)
#define KEEPS_LIVE              .invariants = BWL_INVARIANT_LIVE, FOR_EVER

/* The faults that may happen, each with its greatest number. */
#define SLOW(N)             .budget[BWL_SLOW] = (N)
#define LOSS(N)             .budget[BWL_LOSS] = (N)
#define CRASH(N)            .budget[BWL_CRASH] = (N)
#define DENIAL(N)           .budget[BWL_DENIAL] = (N)
#define REFUSAL(N)          .budget[BWL_REFUSAL] = (N)
#define RESTART(N)          .budget[BWL_RESTART] = (N)
#define JUMP(N)             .budget[BWL_JUMP] = (N)
#define CANCEL(N)           .budget[BWL_CANCEL] = (N)
#define EXTEND_BY_CALLER(N) .budget[BWL_EXTEND_BY_CALLER] = (N)
#define RESTORE(N)          .budget[BWL_RESTORE] = (N)
#define FAILOVER(N)         .budget[BWL_FAILOVER] = (N)
#define EVICTION(N)         .budget[BWL_EVICTION] = (N)
#define FOREIGN_LOCK(N)     .budget[BWL_FOREIGN_LOCK] = (N)
#define WALL(N)             .budget[BWL_WALL] = (N)
#define WRITE(N)            .budget[BWL_WRITE] = (N)
#define RATE(N)             .budget[BWL_RATE] = (N)
#define LOST_PUSH(N)        .budget[BWL_LOST_PUSH] = (N)
#define NOSCRIPT(N)         .budget[BWL_NOSCRIPT] = (N)
#define BORROWER(N)         .budget[BWL_BORROWER] = (N)
#define SILENCE(N)          .budget[BWL_SILENCE] = (N)
#define YIELD(N)            .budget[BWL_YIELD] = (N)
#define DOWNGRADE(N)        .budget[BWL_DOWNGRADE_BY_CALLER] = (N)
#define UPGRADE(N)          .budget[BWL_UPGRADE_BY_CALLER] = (N)
#define STOP(N)             .budget[BWL_STOP] = (N)

/* The rules of locks of other programs, with the tokens of the lab.  _s: a lease in seconds. */
extern const bwl_compat_rules bwl_lab_rules_literal;
extern const bwl_compat_rules bwl_lab_rules_literal_s;
extern const bwl_compat_rules bwl_lab_rules_token;
extern const bwl_compat_rules bwl_lab_rules_token_s;

#define BY_RULES(RULES)    .options.rules = &bwl_lab_rules_##RULES
#define BY_RULES_2S(RULES) .options.rules = &bwl_lab_rules_##RULES, .terms.lease_ms = 2000

enum {
    /* Between clients, whatever one of them believes. */
    INVARIANTS_EXCLUSION = BWL_INVARIANT_ONE_HOLDER | BWL_INVARIANT_ONE_WORKER,
    INVARIANTS_CALM      = INVARIANTS_EXCLUSION | BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_REPORTED |
                      BWL_INVARIANT_NOT_STUCK | BWL_INVARIANT_IN_TIME | BWL_INVARIANT_PAUSES,
    /* The server forgets, or its clock is wrong: what one client can know. */
    INVARIANTS_ONE_CLIENT = BWL_INVARIANT_OWN_KEY | BWL_INVARIANT_CREATES | BWL_INVARIANT_HAS_END |
                            BWL_INVARIANT_REPORTED | BWL_INVARIANT_HEEDS_NO |
                            BWL_INVARIANT_TAKEN_BACK | BWL_INVARIANT_NOT_STUCK |
                            BWL_INVARIANT_CLEAN_END,
    INVARIANTS_QUEUE = (BWL_INVARIANTS_USUAL | BWL_INVARIANT_FIRST_COME | BWL_INVARIANT_FENCE) &
                       ~(unsigned)BWL_INVARIANTS_BACKWARDS,
    /* Of a lock file: what does not depend on the owner of a key.  The writer of a value does not
     * tell: two clients may write the same. */
    INVARIANTS_FILE = INVARIANTS_EXCLUSION | BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_TELLS_LOSS |
                      BWL_INVARIANT_WAKES | BWL_INVARIANT_NOT_NEARER | BWL_INVARIANT_IN_TIME |
                      BWL_INVARIANT_PAUSES | BWL_INVARIANT_NOT_STUCK | BWL_INVARIANT_FREES |
                      BWL_INVARIANT_CLEAN_END,
    /* After a data loss or an early expiry: what one client can know. */
    INVARIANTS_FORGETS =
        INVARIANTS_QUEUE &
        ~(unsigned)(BWL_INVARIANT_ONE_HOLDER | BWL_INVARIANT_ONE_WORKER | BWL_INVARIANT_HONEST |
                    BWL_INVARIANT_KEEPS | BWL_INVARIANT_FIRST_COME),
};

/* `queue` with all of its invariants; on a server that forgets, with those that still hold. */
#define OF_QUEUE      OF(queue), .invariants = INVARIANTS_QUEUE
#define QUEUE_FORGETS OF(queue), .invariants = INVARIANTS_FORGETS

/* ... with those that are checked backwards too. */
#define QUEUE_ENDLESS OF(queue), .invariants = INVARIANTS_QUEUE | BWL_INVARIANTS_BACKWARDS, ENDLESS

/* The tables; table.c has their order. */
typedef struct bwl_scenario_table {
    const bwl_scenario *list;
    size_t              count;
} bwl_scenario_table;

extern const bwl_scenario_table bwl_scenarios_of_queue;
extern const bwl_scenario_table bwl_scenarios_of_share;
extern const bwl_scenario_table bwl_scenarios_of_frameworks;
extern const bwl_scenario_table bwl_scenarios_of_world;
extern const bwl_scenario_table bwl_scenarios_of_articles;
