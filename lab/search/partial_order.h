/*
 * partial_order.h -- partial-order reduction: which transitions of a world are enough.
 *
 * The delivery of an answer or a due alarm of one client is independent of the steps of other
 * clients and of the server: both orders lead to the same world. Where no time may pass and no
 * fault may happen in between, that client goes first and the other orders are left out. (An ample
 * set, as in Peled, "All from one, one for all", CAV 1993; with the cycle condition of Bosnacki,
 * Leue and Lluch Lafuente, "Partial-order reduction for general state exploring algorithms", SPIN
 * 2006.)
 *
 * The client must not hold the lock: its step may begin a hold, never end one.  So two holders that
 * exist before its step exist after it.
 *
 * The verdict is the same; the path may be longer than the shortest.
 */
#pragma once

#include "lab/world/world.h"

/* True if the transitions in `ret_some` are enough; the others are in `ret_rest`. */
bool bwl_reduce(const bwl_world *w, const bwl_transitions *all, bwl_transitions *ret_some,
                bwl_transitions *ret_rest);
