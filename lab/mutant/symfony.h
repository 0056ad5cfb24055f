/*
 * symfony.h -- a mutant of `symfony` with scores by another clock.
 */
#ifndef BWL_LAB_MUTANT_SYMFONY_H
#define BWL_LAB_MUTANT_SYMFONY_H

#include "core/core.h"

extern const bwl_protocol bwl_mutant_symfony_clock; /* by the clock of each client */

#endif
