/*
 * left.h -- a lock on which no process relies does not stay on the servers until its lease ends.
 *
 * Looks at the keys every few seconds.  A value that stays while no process relies on the lock was
 * left behind: by an acquire or a release whose reply was missing, or by a client that has closed.
 * The library releases these as soon as it has a connection again.
 */
#pragma once

#include "sim/search/plan.h"

/* Looks from now on, until sim_schedule_end. */
void sim_left_begin(sim_deploy *servers, const sim_plan *plan);
