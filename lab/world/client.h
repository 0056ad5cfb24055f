/*
 * client.h -- a client of the world: the lock machine and its caller.
 *
 * The caller uses only results.  It works from HELD until a result ends the hold or until it
 * releases, and never reads a clock.
 */
#pragma once

#include "lab/world/world.h"

void bwl_sim_client_start(bwl_world *w, unsigned client, uint8_t chance);
void bwl_sim_client_release(bwl_world *w, unsigned client);
void bwl_sim_client_yield(bwl_world *w, unsigned client, uint8_t chance);
void bwl_sim_client_extend(bwl_world *w, unsigned client);
void bwl_sim_client_cancel(bwl_world *w, unsigned client);
void bwl_sim_client_alarm(bwl_world *w, unsigned client, uint8_t chance);

/* Delivers an answer to this command, or the loss of its connection.  Commands of earlier rounds
 * are ignored. */
void bwl_sim_client_told(bwl_world *w, unsigned client, unsigned server,
                         const bwl_message *question, uint8_t chance);

void bwl_sim_client_learns(bwl_world *w, unsigned client);

void bwl_sim_client_pushed(bwl_world *w, unsigned client, const bwl_message *push, uint8_t chance);

void bwl_sim_client_crash(bwl_world *w, unsigned client);
