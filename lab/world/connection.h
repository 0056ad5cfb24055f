/*
 * connection.h -- the messages between a client and a server: delivery, loss, late arrival.
 *
 * As in the real engine, a connection is closed when the engine stops waiting for an answer, and
 * every request in flight on it gets DOWN.
 */
#pragma once

#include "lab/world/world.h"

void bwl_connection_deliver(bwl_world *w, unsigned client, unsigned server, uint8_t chance);

/* The connection breaks before the last `unsent` commands are written. */
void bwl_connection_break(bwl_world *w, unsigned client, unsigned server, unsigned unsent);

/* A mutation: the engine stops waiting for the next answer and keeps the connection. */
void bwl_connection_stop_waiting(bwl_world *w, unsigned client, unsigned server);

/* Takes a command of a broken connection, which the server is about to execute. */
bwl_message bwl_connection_take_late(bwl_link *link, unsigned i);

void bwl_connection_abandon(bwl_world *w, unsigned client, unsigned server);

/* The server is gone: all messages are lost. */
void bwl_connection_server_gone(bwl_world *w, unsigned client, unsigned server);

/* Drops the answers that a lock on several servers ignores: their delivery would be a step
 * without effect. */
void bwl_connection_drop_ineffective(bwl_world *w);
