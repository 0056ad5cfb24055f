/*
 * names.h -- the simulated name service.
 */
#pragma once

#include "sim/kernel/network.h"

enum { SIM_NAME_FAILS = SIM_HOSTS_MAX };

/* Forgets all names. */
void sim_names_begin(void);

/* The host of a name, which is borrowed; SIM_NAME_FAILS: no name server answers.  A lookup takes
 * delay_ns. */
void sim_name_set(const char *name, sim_host host, int64_t delay_ns);

/* Resolves a name after the delay: 0 and the address, EAI_NONAME or EAI_AGAIN.  Blocks the running
 * thread. */
int sim_look_up(const char *name, in_addr_t *ret_address);
