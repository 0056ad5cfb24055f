/*
 * table.h -- the tables of scenarios: each by its number or by its name.
 */
#ifndef BWL_LAB_SCENARIO_TABLE_H
#define BWL_LAB_SCENARIO_TABLE_H

#include "lab/world/scenario.h"

/* The tables, in the order in which they are run: a new one gets its line in table.c. */
typedef struct bwl_scenario_table {
    const bwl_scenario *list;
    size_t              count;
} bwl_scenario_table;

extern const bwl_scenario_table bwl_scenarios_of_protocols;
extern const bwl_scenario_table bwl_scenarios_of_getset;
extern const bwl_scenario_table bwl_scenarios_of_articles;
extern const bwl_scenario_table bwl_scenarios_of_redisson;
extern const bwl_scenario_table bwl_scenarios_of_symfony;
extern const bwl_scenario_table bwl_scenarios_of_world;
extern const bwl_scenario_table bwl_scenarios_of_clocks;
extern const bwl_scenario_table bwl_scenarios_of_queue;
extern const bwl_scenario_table bwl_scenarios_of_queue_server;
extern const bwl_scenario_table bwl_scenarios_of_queue_vast;
extern const bwl_scenario_table bwl_scenarios_of_yield;
extern const bwl_scenario_table bwl_scenarios_of_synced;

size_t bwl_scenarios_count(void);

/* Complete, with everything that is usual. */
bwl_scenario bwl_scenario_at(size_t i);

/* The same for one that is in no table. */
bwl_scenario bwl_scenario_complete(bwl_scenario s);

/* False if there is none of this name. */
bool bwl_scenario_find(const char *name, size_t *ret_i);

#endif
