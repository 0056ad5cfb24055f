/*
 * server_fault.h -- what may happen to the server.
 */
#ifndef BWL_LAB_WORLD_SERVER_FAULT_H
#define BWL_LAB_WORLD_SERVER_FAULT_H

#include "lab/world/world.h"

/* It is gone, with all that was under way, and there is `back` in its place (NULL: nothing). */
void bwl_server_comes_back(bwl_world *w, unsigned server, const bwl_model_data *back);

void bwl_server_saves(bwl_world *w);
void bwl_server_restores(bwl_world *w);
void bwl_server_fails_over(bwl_world *w);
void bwl_server_evicts(bwl_world *w, unsigned key);
void bwl_server_meets_stranger(bwl_world *w);

/* Time goes on, or the server's clock steps: of all there is and may come back. */
void bwl_server_passes(bwl_world *w, unsigned server, int64_t hundredths);

/* Its clock steps. */
void bwl_server_steps(bwl_world *w, unsigned server);

/* It carries nothing out for a while, and keeps what it is asked; or goes on. */
void bwl_server_stops(bwl_world *w, unsigned server, bool is_stopped);

#endif
