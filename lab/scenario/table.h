/*
 * table.h -- the tables of scenarios: each by its number or by its name.
 */
#ifndef BWL_LAB_SCENARIO_TABLE_H
#define BWL_LAB_SCENARIO_TABLE_H

#include "lab/world/scenario.h"

size_t bwl_scenarios_count(void);

/* Complete, with everything that is usual. */
bwl_scenario bwl_scenario_at(size_t i);

/* The same for one that is in no table. */
bwl_scenario bwl_scenario_complete(bwl_scenario s);

/* False if there is none of this name. */
bool bwl_scenario_find(const char *name, size_t *ret_i);

#endif
