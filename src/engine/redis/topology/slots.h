/*
 * slots.h -- what must be done for a slot at a node before the first request about the slot: the
 * subscription to the slot's push channel and the client info.  See slots.c.
 */
#pragma once

#include "engine/redis/topology/router.h"

void bwl_cluster_forget_session(bwl_session *session);

/* The room for it, of a session that uses pushes.  False: out of memory. */
bool bwl_slots_open(bwl_session *session);

/* Of the lock's slot, in braces; "" where there is no cluster. */
void bwl_slots_tag(const bwl_session *session, const bwl_engine_lock *lock,
                   char ret_tag[BWL_QUEUE_TAG_MAX + 1]);

/* The same of a slot. */
void bwl_slots_tag_of(const bwl_session *session, uint16_t slot,
                      char ret_tag[BWL_QUEUE_TAG_MAX + 1]);

/* The channel of this connection for a tag. */
void bwl_slots_channel(const bwl_session *session, const char *tag,
                       char ret_channel[BWL_QUEUE_CHANNEL_MAX + 1]);

/* The client info of the slot is published with another command. */
void bwl_slots_has_info(bwl_session *session, uint16_t slot);

void bwl_slots_begin(bwl_session *session);  /* a new connection */
void bwl_slots_expire(bwl_session *session); /* the client info is to be published again */
void bwl_slots_leave(bwl_session *session);  /* writes the end of all client info */
void bwl_slots_forget(bwl_session *session, uint16_t slot); /* it is another node's */
void bwl_slots_forget_all(bwl_session *session);            /* the session is another server's */

/* Is the subscription of its slot so new that other waiters may not have found the node yet? */
bool bwl_slots_is_new(bwl_session *session, const bwl_engine_lock *lock);

/* A push about a slot: SUBSCRIBED or UNSUBSCRIBED.  True: *ret_slot has gone to another node. */
bool bwl_slots_on_push(bwl_session *session, const bwl_queue_push *push, uint16_t *ret_slot);

/* Is it a command that reads or writes the slot's queue? */
bool bwl_slots_uses(const bwl_request *request);

/* See bwl_session_owner. */
bwl_session_prepared bwl_slots_prepare(bwl_session *session, bwl_request *request);
void                 bwl_slots_on_prepared(bwl_session *session, const char *bytes, size_t size);
bool bwl_slots_may_share(const bwl_session *session, const bwl_request *a, const bwl_request *b);
bool bwl_slots_skips(const bwl_session *session, const bwl_request *request);
