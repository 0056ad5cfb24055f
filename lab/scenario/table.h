/*
 * table.h -- the scenarios, by number or by name; and the subjects of `try`.
 */
#pragma once

#include "lab/base/say.h"
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

/* The subjects of `try` by name: protocols of bowline, of articles, mutants, and a protocol of the
 * user.  The name of a scenario also works: its protocol is tried in its world. */

bool bwl_subject_is_file(const char *name);

size_t bwl_subjects_count(void);

/* Its name, its story, and what differs from the defaults. */
const bwl_scenario *bwl_subject_at(size_t i);

/* The world in which `name` is tried, without faults, with all invariants that apply to any lock.
 * A name with a / in it, or that ends in .so, is a file with a protocol of the user.  False: reterr
 * has what, why, and what to type. */
bool bwl_subject_find(const char *name, bwl_scenario *ret_world, bwl_text reterr[3]);

/* The same for a lock file, in its which-th world, from 0: see lock_file.h. */
bool bwl_lock_world_find(const char *path, unsigned which, bwl_scenario *ret_world,
                         bwl_text reterr[3]);
