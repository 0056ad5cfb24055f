/*
 * redlock.h -- the scenarios with several servers.
 */
#pragma once

#include "lab/world/scenario.h"
#include <stddef.h>

size_t       bwl_redlock_scenarios_count(void);
bwl_scenario bwl_redlock_scenario_at(size_t i);
