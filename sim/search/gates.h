/*
 * gates.h -- the locks that clients share, as the servers keep them.
 *
 * The key of a shared lock is a gate, and a sorted set beside it has a member for each permit, with
 * its end as score; or it is a gate of one, which has the only share in itself
 * (docs/reference/wire.md).  Looks at both every few hundred milliseconds:
 *
 *  - a gate and its sorted set expire in the same millisecond, that of the highest score, and there
 *    is no sorted set without a gate;
 *  - no process relies on a share for longer than the servers keep it (check_shares).
 *
 * Not while a lock has a foreign value.  Not in a cluster whose clocks jump, where a key that moves
 * gets another end.
 */
#pragma once

#include "sim/search/plan.h"

/* Looks from now on, until sim_schedule_end. */
void sim_gates_begin(sim_deploy *servers, const sim_plan *plan);

/* For check_rules. */
const check_kept *sim_gates_shares(unsigned name, unsigned *ret_count);
