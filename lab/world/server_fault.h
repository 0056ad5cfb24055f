/*
 * server_fault.h -- the faults of a server.
 */
#pragma once

#include "lab/world/world.h"

void bwl_server_comes_back(bwl_world *w, unsigned server, const bwl_model_data *back);

void bwl_server_saves(bwl_world *w);
void bwl_server_restores(bwl_world *w);
void bwl_server_fails_over(bwl_world *w);
void bwl_server_evicts(bwl_world *w, unsigned key);
void bwl_server_meets_stranger(bwl_world *w);

/* The server's clock advances, for its data and for the saved data. */
void bwl_server_passes(bwl_world *w, unsigned server, int64_t hundredths);

void bwl_server_steps(bwl_world *w, unsigned server);

void bwl_server_stops(bwl_world *w, unsigned server, bool is_stopped);
