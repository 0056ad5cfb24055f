/*
 * holder_query.h -- holder queries, the forced release of what they show, and the parts that a list
 * of names and one of holders share with them, and these lists.
 */
#pragma once

#include "engine/redis/redis.h"

/* For one or several servers: whether the result is known, or can no longer become known; and the
 * result.  Without a common one the lock is free, if a majority answered; otherwise the answer is
 * the error. */
bool            bwl_redis_is_decided(const bwl_redis_query *queries, unsigned nodes);
bwl_redis_query bwl_redis_result_of(const bwl_redis_query *queries, unsigned nodes);

/* The type of the keys of locks: "string", for example. */
const char *bwl_redis_kind(const bwl_engine_lock *lock);

/* Writes the query for the holder of a key, in this slot of a cluster; reads the reply into the
 * bwl_redis_query of the request; and describes the holder. */
bool              bwl_redis_write_query(bwl_session *session, bwl_request *request, bwl_bytes key,
                                        uint16_t slot);
bwl_redis_verdict bwl_redis_read_query(bwl_session *session, bwl_request *request,
                                       const char *bytes, size_t size,
                                       bwl_request_reply *ret_reply);
void              bwl_redis_fill_in(bwl_holder *ret_holder, const bwl_holder_reply *look,
                                    const bwl_engine_lock *lock);

/* ---- holder_query.c, force_release.c: see bwl_engine */

bool bwl_redis_holder_query(bwl_engine_lock *lock);
int  bwl_redis_who(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault);
bool bwl_redis_force_release(bwl_engine_lock *lock, uint64_t id);
int  bwl_redis_force_released(bwl_engine_lock *lock, bwl_fault *fault);

/* ---- listing.c */

bool bwl_redis_list(bwl_engine_lock *lock);     /* see bwl_engine_view */
void bwl_redis_list_end(bwl_engine_lock *lock); /* frees what is left; also without a list */

/* ---- holders.c */

/* See bwl_engine_view. */
bool bwl_redis_look_at_all(bwl_engine_lock *lock);
int  bwl_redis_who_nth(bwl_engine_lock *lock, size_t nth, bwl_holder *ret_holder, bwl_fault *fault);

/* The hold with this id in the result of such a query; NULL: none, or no query. */
const bwl_holder_reply *bwl_redis_holder_with(const bwl_engine_lock *lock, uint64_t id);

void bwl_redis_forget_holders(bwl_redis_lock *part);
