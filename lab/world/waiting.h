/*
 * waiting.h -- what a lock that keeps those who wait in line adds to a world: the engine's part
 * of it, the server's, and the pushes between them.
 *
 * A push is a message among the answers, for it comes on the same connection and in the same order.
 * The server publishes to an inbox; each connection has a new one.  A connection that has ended for
 * its client may be open for the server still: what is published to it is lost, and the server does
 * not know.  A new connection first ends the old one (CLIENT KILL), where it may.
 */
#ifndef BWL_LAB_WORLD_WAITING_H
#define BWL_LAB_WORLD_WAITING_H

#include "lab/model/queue.h"
#include "lab/world/world.h"

static inline bool bwl_wait_is_kept(const bwl_world *w)
{
    return w->scenario->protocol->listens;
}

/* ---- the engine ------------------------------------------------------------------------------ */

void bwl_wait_start(bwl_world *w);

/* A round of the client begins. */
void bwl_wait_new_round(bwl_world *w, unsigned client);

/* The client asks: the message gets what the engine adds to the question. */
void bwl_wait_asked(bwl_world *w, unsigned client, const bwl_ask *ask, bwl_message *message);

/* True if the client has a connection on which it may be told something at any time. */
bool bwl_wait_listens(const bwl_world *w, unsigned client);

/* Its connection has ended: what was under way to it is lost; the server may not know that yet;
 * there will be another, and the client is to hear of it. */
void bwl_wait_drop_pushes(bwl_world *w, unsigned client);
void bwl_wait_broke_at_server(bwl_world *w, unsigned client, bool has_messages);
void bwl_wait_broke(bwl_world *w, unsigned client);

/* The client hears an answer. */
void bwl_wait_heard(bwl_world *w, unsigned client, const bwl_message *message);

/* The server did not know the script: asked once more, with its text, unless the client has moved
 * on; then the message says so. */
bool bwl_wait_asks_again(bwl_world *w, unsigned client, bwl_message *message);

/* What the message says beside yes and no; NULL: nothing. */
const bwl_place *bwl_wait_place(const bwl_world *w, const bwl_message *message, bwl_place *room);

/* ---- the server ------------------------------------------------------------------------------ */

/* Carries the message out, which becomes the answer; and who was given the lock by that. */
bwl_grant bwl_wait_serve(bwl_world *w, bwl_message *message);

/* One of a broken connection was: of a client that has died with it, and had yielded, not only the
 * token by which it held may be there, but the one by which it waits as well. */
void bwl_wait_served_late(bwl_world *w, unsigned client, const bwl_message *message);

/* What it does of it when there is no memory left; the message is answered by the caller. */
bwl_grant bwl_wait_serve_without_memory(bwl_world *w, const bwl_message *message);

/* It is told, if it can be. */
void bwl_wait_push(bwl_world *w, const bwl_grant *grant);

/* The first on a connection. */
void bwl_wait_greet(bwl_world *w, unsigned client);

/* ---- transitions ----------------------------------------------------------------------------- */

void bwl_wait_add_transitions(const bwl_world *w, bwl_transitions *transitions, unsigned client);
void bwl_wait_add_of_server(const bwl_world *w, bwl_transitions *transitions);

void bwl_wait_lose_push(bwl_world *w, unsigned client);
void bwl_wait_close(bwl_world *w, unsigned client);
void bwl_wait_borrow(bwl_world *w);
void bwl_wait_give_back(bwl_world *w);
void bwl_wait_silence(bwl_world *w);

/* ---- invariants ------------------------------------------------------------------------------ */

/* The caller is told that it has the lock. */
void bwl_wait_held(bwl_world *w, unsigned client);

/* A release of the client could not be carried out. */
void bwl_wait_excuse(bwl_world *w, unsigned client);

/* After each step: does somebody want the lock who has it?  If not, one of its connections must
 * have ended, and for the server still be open when the lock was given. */
void bwl_wait_look_at_owner(bwl_world *w);

/* With a lock that somebody had at some earlier time, or none. */
void bwl_wait_server_came_back(bwl_world *w);

/* Nothing is left in the server that nobody wants. */
bool bwl_wait_is_empty(const bwl_world *w);

#endif
