/*
 * inside.h -- what the files of a world call of each other.
 */
#pragma once

#include "lab/model/queue.h"
#include "lab/world/world.h"

/* ---- client.c: the lock machine and its caller ----------------------------------------------- */

void bwl_sim_client_start(bwl_world *w, unsigned client, uint8_t chance);
void bwl_sim_client_release(bwl_world *w, unsigned client);
void bwl_sim_client_yield(bwl_world *w, unsigned client, uint8_t chance);
void bwl_sim_client_extend(bwl_world *w, unsigned client);
void bwl_sim_client_change(bwl_world *w, unsigned client, bwl_change kind, uint8_t chance);
void bwl_sim_client_cancel(bwl_world *w, unsigned client);

/* The time and the random bits are added. */
void bwl_sim_client_event(bwl_world *w, unsigned client, bwl_event ev, uint8_t chance);

/* Delivers an answer to this command, or the loss of its connection.  Commands of earlier rounds
 * are ignored. */
void bwl_sim_client_delivered(bwl_world *w, unsigned client, unsigned server,
                              const bwl_message *question, uint8_t chance);

void bwl_sim_client_learns(bwl_world *w, unsigned client);
void bwl_sim_client_pushed(bwl_world *w, unsigned client, const bwl_message *push, uint8_t chance);

void bwl_sim_client_crash(bwl_world *w, unsigned client);

/* ---- connection.c: the messages between a client and a server -------------------------------- */

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

/* ---- waiting.c: what a lock with a queue adds ------------------------------------------------ */

static inline bool bwl_wait_is_kept(const bwl_world *w)
{
    return w->scenario->protocol->uses_push;
}

void bwl_wait_asked(bwl_world *w, unsigned client, const bwl_send *send, bwl_message *message);

/* The connection has ended: drops its pushes, keeps it open at the server, and reports the loss to
 * the client. */
void bwl_wait_drop_pushes(bwl_world *w, unsigned client);
void bwl_wait_broke_at_server(bwl_world *w, unsigned client, bool has_messages);
void bwl_wait_broke(bwl_world *w, unsigned client);

void bwl_wait_heard(bwl_world *w, unsigned client, const bwl_message *message);

/* After NOSCRIPT: sends the command again as text, unless the client has moved on; then the answer
 * is NOT_SENT. */
bool bwl_wait_asks_again(bwl_world *w, unsigned client, bwl_message *message);

const bwl_queue_status *bwl_wait_place(const bwl_world *w, const bwl_message *message);

bwl_grants bwl_wait_serve(bwl_world *w, bwl_message *message);

/* The effect of a command on a server without memory; the caller sets the answer. */
bwl_grants bwl_wait_serve_without_memory(bwl_world *w, const bwl_message *message);

void bwl_wait_push(bwl_world *w, const bwl_grants *grants);

void bwl_wait_handshake(bwl_world *w, unsigned client);

void bwl_wait_add_transitions(const bwl_world *w, bwl_transitions *transitions, unsigned client);
void bwl_wait_add_of_server(const bwl_world *w, bwl_transitions *transitions);

void bwl_wait_lose_push(bwl_world *w, unsigned client);
void bwl_wait_close(bwl_world *w, unsigned client);
void bwl_wait_silence(bwl_world *w);

/* After each step: the owner must want the lock, or the server has granted it to a connection that
 * had ended. */
void bwl_wait_look_at_owner(bwl_world *w);

/* A caller got the lock: checks the period of the one before. */
void bwl_wait_begins(bwl_world *w, unsigned client);

/* The server restarted, with an older owner or none. */
void bwl_wait_server_came_back(bwl_world *w);

/* GATE and WOKEN. */
unsigned bwl_wait_broken_of_gate(const bwl_world *w);

bool bwl_wait_is_empty(const bwl_world *w);
