/*
 * client.h -- a process that uses the library as its plan says.
 */
#pragma once

#include "sim/load/program.h"

typedef struct load_client load_client;

/* The plan is copied; `counts` is shared by all clients of a world. */
load_client *load_client_new(const load_plan *plan, const char *name, sim_clocks clocks,
                             load_counts *counts);

sim_process *load_client_process(const load_client *client);

/* It begins nothing new, ends what it has begun, closes the client and returns. */
void load_client_stop(load_client *client);

/* Its process must have ended. */
void load_client_free(load_client *client);
