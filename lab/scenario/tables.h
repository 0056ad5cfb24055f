/*
 * tables.h -- the tables of scenarios, one per file.
 */
#ifndef BWL_LAB_SCENARIO_TABLES_H
#define BWL_LAB_SCENARIO_TABLES_H

#include "lab/world/scenario.h"
#include <stddef.h>

/* The tables; table.c has their order. */
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

#endif
