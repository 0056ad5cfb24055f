/*
 * symfony.h -- a mutant of `symfony` with scores by another clock.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_mutant_symfony_clock; /* by the clock of each client */
