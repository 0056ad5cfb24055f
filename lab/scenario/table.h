/*
 * table.h -- the scenarios, by number or by name.
 */
#pragma once

#include "lab/world/scenario.h"

size_t bwl_scenarios_count(void);

/* With all defaults. */
bwl_scenario bwl_scenario_at(size_t i);

/* Adds the defaults to a scenario. */
bwl_scenario bwl_scenario_complete(bwl_scenario s);

bool bwl_scenario_find(const char *name, size_t *ret_i);

/* The scenarios with several servers. */
size_t       bwl_redlock_scenarios_count(void);
bwl_scenario bwl_redlock_scenario_at(size_t i);
