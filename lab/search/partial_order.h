/*
 * partial_order.h -- which of the transitions in a world are enough.
 *
 * A client that has an answer to hear, or an alarm that is due, does nothing by that which another
 * client or the server could notice or prevent: whether it is done before or after what they do,
 * the world is the same in the end.  So where nothing can come between -- no time may pass, no
 * fault may happen -- that client goes first, and the other orders are left out.  (An ample set, as
 * in Peled, "All from one, one for all", CAV 1993; with the condition on cycles of Bosnacki, Leue
 * and Lluch Lafuente, "Partial-order reduction for general state exploring algorithms", SPIN 2006.)
 *
 * The client must not hold the lock: what it may do by its step is begin to hold it, never end it.
 * So two holders that would have been seen while it waited are still there after its step.
 *
 * What is found broken is broken; what is not found broken is not.  But the way there may be longer
 * than the shortest.
 */
#ifndef BWL_LAB_SEARCH_PARTIAL_ORDER_H
#define BWL_LAB_SEARCH_PARTIAL_ORDER_H

#include "lab/world/world.h"

/* True if the transitions in `ret_some` are enough; the others are in `ret_rest`. */
bool bwl_reduce(const bwl_world *w, const bwl_transitions *all, bwl_transitions *ret_some,
                bwl_transitions *ret_rest);

#endif
