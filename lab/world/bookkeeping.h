/*
 * bookkeeping.h -- what nobody in the world knows, and an invariant has to: who came first, whose
 * turn it is, who was before whom at what the lock protects.
 */
#ifndef BWL_LAB_WORLD_BOOKKEEPING_H
#define BWL_LAB_WORLD_BOOKKEEPING_H

#include "lab/world/world.h"

/* The server has carried out a question of the client; until then the key was somebody's, or 0. */
void bwl_book_served(bwl_world *w, unsigned client, const bwl_message *message, uint16_t was_of);

/* A round of the client begins. */
void bwl_book_new_round(bwl_lab_client *c);

/* The client writes to what the lock protects. */
void bwl_book_write(bwl_world *w, unsigned client);

#endif
