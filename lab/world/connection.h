/*
 * connection.h -- what happens to a client's messages between it and the server.
 *
 * The rule of the house is kept here as in the real engine: a connection on which an answer is no
 * longer awaited is closed, and every question that was open on it is told DOWN.
 */
#ifndef BWL_LAB_WORLD_CONNECTION_H
#define BWL_LAB_WORLD_CONNECTION_H

#include "lab/world/world.h"

/* The client hears the next answer, or that there will be none. */
void bwl_connection_deliver(bwl_world *w, unsigned client, unsigned server, uint8_t chance);

/* The connection breaks; the last `unsent` of the questions had not been written. */
void bwl_connection_break(bwl_world *w, unsigned client, unsigned server, unsigned unsent);

/* The engine waits no longer for the next answer, but keeps the connection: against the rule. */
void bwl_connection_stop_waiting(bwl_world *w, unsigned client, unsigned server);

/* A question from a broken connection, which the server is about to carry out. */
bwl_message bwl_connection_take_late(bwl_link *link, unsigned i);

/* The client is gone, and nobody will hear anything. */
void bwl_connection_abandon(bwl_world *w, unsigned client, unsigned server);

/* The server forgets: what was under way is lost for good. */
void bwl_connection_server_gone(bwl_world *w, unsigned client, unsigned server);

/* Drops the answers that a lock on several servers does not look at any more: to deliver them would
 * be a step that does nothing. */
void bwl_connection_drop_ineffective(bwl_world *w);

#endif
