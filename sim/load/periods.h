/*
 * periods.h -- once per period in a world: name 0 is acquired with once_ms, name 1 with
 * at_least_ms, by every program, and what must be true of them.
 *
 * While the servers keep what they granted, no two acquires of such a name have the lock within one
 * period, however its hold ends, unless the holder drops the rest.  DONE is said only while the
 * rest of a program's hold may be there, and a wait ends soon after it begins.
 */
#pragma once

#include "sim/load/program.h"

void load_periods_begin(void);

/* When the last period is over, if nobody renews it. */
int64_t load_periods_end_at(void);

bool load_has_period(const load_program *program, unsigned name);

/* An acquire of the name begins. */
void load_period_options(const load_program *program, unsigned name,
                         bowline_acquire_options *options, load_call *call);

/* It has ended.  A status that the period forbids fails.  `fence`: if the status is OK. */
void load_period_acquired(const load_program *program, const load_call *call, int status,
                          uint64_t fence);

/* A release of the hold with that fence begins; perhaps it gives the rest back. */
void load_period_releases(load_program *program, bowline_hold *hold, unsigned name, uint64_t fence);

/* bowline_release was OK. */
void load_period_released(const load_program *program, unsigned name, uint64_t fence);
