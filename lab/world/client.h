/*
 * client.h -- one client of the world: the machine, and the caller above it.
 *
 * The caller of the lab believes what it is told.  It works from HELD until it is told the end or
 * releases, and never looks at a clock: the hold has to tell it.
 */
#ifndef BWL_LAB_WORLD_CLIENT_H
#define BWL_LAB_WORLD_CLIENT_H

#include "lab/world/world.h"

void bwl_sim_client_start(bwl_world *w, unsigned client, uint8_t chance);
void bwl_sim_client_release(bwl_world *w, unsigned client);
void bwl_sim_client_yield(bwl_world *w, unsigned client, uint8_t chance);
void bwl_sim_client_extend(bwl_world *w, unsigned client);
void bwl_sim_client_cancel(bwl_world *w, unsigned client);
void bwl_sim_client_alarm(bwl_world *w, unsigned client, uint8_t chance);

/* The answer to this question came, or the news that there will be none.  Nothing is told of the
 * questions of a round that is over. */
void bwl_sim_client_told(bwl_world *w, unsigned client, unsigned server,
                         const bwl_message *question, uint8_t chance);

/* It has connected again, to a server that was started anew: what it holds is lost. */
void bwl_sim_client_learns(bwl_world *w, unsigned client);

/* The server says that it is its turn. */
void bwl_sim_client_pushed(bwl_world *w, unsigned client, const bwl_message *push, uint8_t chance);

void bwl_sim_client_crash(bwl_world *w, unsigned client);

#endif
