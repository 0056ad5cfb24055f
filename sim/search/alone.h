/*
 * alone.h -- a client that holds a lock has a connection: it reconnects at once, and not when a
 * renewal is due.
 *
 * Looks once a second.
 */
#pragma once

#include "sim/kernel/process.h"

/* From now on, until sim_schedule_end.  process_of: of a client; NULL: it does not run. */
void sim_alone_begin(unsigned clients, sim_process *(*process_of)(unsigned client));
