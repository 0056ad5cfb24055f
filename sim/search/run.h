/*
 * run.h -- runs the world of a plan to its end, and says what was found.
 */
#pragma once

#include "sim/search/plan.h"

typedef struct sim_result {
    bool        failed;
    char        failure[512];
    int64_t     virtual_ns;
    uint64_t    trace; /* hash */
    uint64_t    steps;
    uint64_t    grants;
    load_counts counts;
} sim_result;

void sim_run(const sim_plan *plan, sim_result *ret_result);
