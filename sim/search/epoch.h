/*
 * epoch.h -- a client that has used a primary makes no new connection to an older one.
 *
 * Looks several times a second, in worlds with sentinels.  Only connections that have run a script
 * count: to learn a server's role, a client has to ask it.  A client that was closed meanwhile may
 * have forgotten the epoch, and one that no majority of the sentinels confirms may be given up.
 */
#pragma once

#include "sim/kernel/process.h"
#include "sim/world/deploy.h"

/* From now on, until sim_schedule_end.  process_of: of a client; NULL: it does not run. */
void sim_epoch_begin(const sim_deploy *servers, unsigned count, unsigned clients,
                     sim_process *(*process_of)(unsigned client));
