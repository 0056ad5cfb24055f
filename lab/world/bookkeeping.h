/*
 * bookkeeping.h -- facts that no program knows but invariants need: the order of arrivals, of
 * holders, and of writes to the resource.
 */
#pragma once

#include "lab/world/world.h"

/* The server has executed a command of the client.  `was_of`: the owner of the key before; 0:
 * none. */
void bwl_book_served(bwl_world *w, unsigned client, const bwl_message *message, uint16_t was_of);

void bwl_book_new_round(bwl_lab_client *c);

void bwl_book_write(bwl_world *w, unsigned client);
