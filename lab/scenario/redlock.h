/*
 * redlock.h -- what is tried with several servers.
 */
#ifndef BWL_LAB_SCENARIO_REDLOCK_H
#define BWL_LAB_SCENARIO_REDLOCK_H

#include "lab/world/many.h"

size_t            bwl_many_scenarios_count(void);
bwl_many_scenario bwl_many_scenario_at(size_t i);

#endif
