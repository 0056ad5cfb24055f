/*
 * connections.h -- what must be true of the connections of a client that nothing disturbs.
 *
 * While it holds a lock it has a connection: it reconnects at once, and not when a renewal is due
 * (`alone`).  On an event loop it reads each reply: none lies in a connection that it uses later
 * (`unread`).
 *
 * Looks once a second.
 */
#pragma once

#include "sim/search/plan.h"

/* From now on, until sim_schedule_end.  The plan must live so long.  process_of: of a client;
 * NULL: it does not run. */
void sim_connections_begin(const sim_plan *plan, sim_process *(*process_of)(unsigned client));
