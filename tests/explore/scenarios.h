/*
 * scenarios.h -- the lab's scenarios by name.
 */
#pragma once

#include "tests/lib/suite.h"

#include "lab/scenario/table.h"

static inline bwl_scenario scenario_called(const char *name)
{
    size_t i = 0;

    assert_true(bwl_scenario_find(name, &i));
    return bwl_scenario_at(i);
}
