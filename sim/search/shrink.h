/*
 * shrink.h -- a smaller world with the same failure.
 *
 * A world is a seed and what was left out of its plan.  So the result is a command line.
 */
#pragma once

#include "sim/search/run.h"

/* What remains of a plan. */
typedef struct sim_rest {
    uint64_t faults;                       /* bit n: fault n happens */
    unsigned clients;                      /* bit n: client n exists */
    unsigned activities[PLAN_CLIENTS_MAX]; /* at most */
    int64_t  length_ms;                    /* at most */
    bool     is_plain;                     /* the network neither splits nor delays */
} sim_rest;

/* Everything. */
sim_rest sim_rest_all(void);

/* Leaves out of the plan what is not in the rest. */
void sim_plan_leave(sim_plan *plan, const sim_rest *rest);

/* Tries smaller worlds, at most `runs`, and returns the smallest that fails in the same way: the
 * texts have the same beginning, up to the colon.  `result` is that of the seed, then that of the
 * rest. */
sim_rest sim_shrink(uint64_t seed, sim_topology only, sim_result *result, unsigned runs);
