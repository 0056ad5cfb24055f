/*
 * slots.h -- of a cluster and a protocol with a queue: what a node is told of a slot before
 * the first question about it, and questions that wait while a slot moves.
 *
 * What push_channel.c does once for a connection is done here once for each slot on it, as channels
 * and counts lie in slots:
 *
 *      SSUBSCRIBE inbox:{N}
 *      SPUBLISH inbox:{N} H
 *      EVAL floor 1 bowline:f:{N} ...
 *
 * and the question is written when all of that was answered: until then nothing else is written
 * behind it.  The server says by a push (sunsubscribe) when it does not have the slot any more;
 * what it was told of the slot counts no longer then, as others may have drawn fences elsewhere.
 * So who only tries, and will not stand in line, listens too.
 *
 * While a slot moves, its keys are partly here, partly there, and a question about several of them
 * is answered by TRYAGAIN, or by ASK when all have gone.  Such a question is put aside, and asked
 * again until it is answered otherwise, or was aside for as long as a server may be silent.  EXTEND
 * is about one key, and follows ASK.
 */
#ifndef BWL_ENGINE_REDIS_TOPOLOGY_SLOTS_H
#define BWL_ENGINE_REDIS_TOPOLOGY_SLOTS_H

#include "engine/redis/session/session.h"

/* What is wanted of, or was done for, a slot on a connection. */
enum {
    BWL_SLOT_LISTENS = 1u << 0,
    BWL_SLOT_FLOOR   = 1u << 1,
    BWL_SLOT_KNOWN   = 1u << 2, /* who we are stands there                                      */
    BWL_SLOT_NEW     = 1u << 3, /* it listens since a moment ago                                */
};

/* Of the lock's slot, in braces; "" where there is no cluster. */
void bwl_redis_slot_tag(const bwl_redis_store *store, const bwl_engine_lock *lock,
                        char ret_tag[BWL_QUEUE_TAG_MAX + 1]);

/* The inbox of this connection in a slot. */
void bwl_redis_slot_inbox(const bwl_redis_store *store, const char *tag,
                          char ret_inbox[BWL_QUEUE_INBOX_MAX + 1]);

/* The room for it: NOMEM. */
int bwl_redis_slots_new(bwl_redis_store *store);

/* A new connection; and: it is time to say again who we are.  And: the client closes. */
void bwl_redis_slots_begin(bwl_redis_store *store);
void bwl_redis_slots_again(bwl_redis_store *store);
void bwl_redis_slots_leave(bwl_redis_store *store);

/* Is something to be told before this question?  Writes it, and the question is to be written once
 * more when it prepares no longer.  False: there is no room. */
bool bwl_redis_slot_is_due(const bwl_redis_store *store, const bwl_redis_open_question *question);
bool bwl_redis_slot_write(bwl_redis_store *store, bwl_redis_open_question *question);

/* A frame that answers some of it, of the oldest question: when all was answered that is written,
 * or has its own answer, as it was not carried out. */
void bwl_redis_slot_answered(bwl_redis_store *store, const char *bytes, size_t size);

/* It is the last that was written.  Does what is behind it wait for it?  Not when the client
 * closes: then it is not written any more, or, if it lets go of something, may be at once. */
bool bwl_redis_slot_holds_up(const bwl_redis_store *store, bwl_redis_open_question *question);

/* These pushes have come. */
void bwl_redis_slot_listens(bwl_redis_store *store, bwl_bytes tag);
void bwl_redis_slot_has_gone(bwl_redis_store *store, bwl_bytes tag);

/* Is it known on this connection for so short a time that the slot may have moved, and others who
 * wait may not have found it yet? */
bool bwl_redis_slot_is_new(bwl_redis_store *store, const bwl_engine_lock *lock);

/* The slot is another node's. */
void bwl_redis_slot_forget(bwl_redis_store *store, uint16_t slot);

/* Is it the answer of a script that found a key gone in its midst?  Nobody knows what it did. */
bool bwl_redis_slot_broke(const bwl_redis_store *store, const char *bytes, size_t size);

/* That ends the oldest question. */
void bwl_redis_slot_ended(bwl_redis_store *store);

/* ---- aside ----------------------------------------------------------------------------------- */

/* May the question be asked again when its slot has moved? */
bool bwl_redis_may_wait(const bwl_redis_store *store, const bwl_redis_open_question *question);

/* It is not in a ring; pinned once more.  False: it has waited for too long, or nobody wants it. */
bool   bwl_redis_put_aside(bwl_redis_store *store, const bwl_redis_open_question *question);
bwl_ms bwl_redis_aside_until(const bwl_host *client);
void   bwl_redis_aside_woken(bwl_host *client);

#endif
