/*
 * redlock.h -- the scenarios with several servers.
 */
#ifndef BWL_LAB_SCENARIO_REDLOCK_H
#define BWL_LAB_SCENARIO_REDLOCK_H

#include "lab/world/scenario.h"
#include <stddef.h>

size_t       bwl_redlock_scenarios_count(void);
bwl_scenario bwl_redlock_scenario_at(size_t i);

#endif
