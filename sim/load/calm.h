/*
 * calm.h -- which faults disturb whom, and since when nothing has.
 *
 * The world reports each fault when it begins and when it ends.  Its effects are over a grace after
 * that.
 */
#pragma once

#include "sim/kernel/schedule.h"

enum {
    CHECK_NAMES_MAX    = 16,
    CHECK_CLIENTS_MAX  = 8,
    CHECK_EVERY_CLIENT = CHECK_CLIENTS_MAX,
    CHECK_NO_NAME      = CHECK_NAMES_MAX,
    CHECK_EVERY_NAME
};

/* The effects of a fault are over so long after it; SIM_NEVER: the network itself is slow. */
void check_calm_begin(int64_t grace_ns);

/* A fault begins or ends.  It disturbs one client, or CHECK_EVERY_CLIENT.  A mild one breaks
 * connections, and the client can connect again at once: no hold is lost. */
void check_fault(unsigned client, bool is_mild, bool begins);

/* The same for one lock: others have taken its key away, or its use is forbidden. */
void check_fault_of_name(unsigned name, bool begins);
/* Of one lock, of none, or of all. */
bool check_is_name_calm(unsigned name, int64_t since);

/* The only server answers, or it does not.  Since when it does not; SIM_NEVER: it does. */
void    check_server(bool answers);
int64_t check_silent_since(void);

/* Nothing has disturbed the client since that time of the world, and for the grace before; `mild`:
 * a mild fault counts too. */
bool check_is_calm(unsigned client, int64_t since, bool mild);
