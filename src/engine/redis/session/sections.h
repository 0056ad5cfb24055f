/*
 * sections.h -- requests that share a state of the connection: one WATCH ... EXEC at a time, one
 * WAIT at a time, and several renewals as one command.  See transaction.c, replication_barrier.c,
 * renewal_batch.c.
 */
#pragma once

#include "engine/redis/session/session.h"

/* ---- transaction.c */

/* May the request go out now?  False: it is deferred until the transactions before it have ended;
 * or its transaction has ended with its connection, and it is completed as NOT_SENT. */
bool bwl_watch_admits(bwl_session *session, const bwl_request *request);

/* It has been submitted: if it was the last of its transaction, the next one begins. */
void bwl_watch_submitted(bwl_session *session, const bwl_request *request);

/* The reply to WATCH showed nothing, or it was not sent: no request of the transaction follows. */
void bwl_watch_failed(bwl_session *session, const bwl_request *request);

/* ---- replication_barrier.c */

bool bwl_request_is_barrier(const bwl_request *request);

/* May it go out now?  False: it is deferred until the one before it is answered; or there is no
 * connection, and it is completed as NOT_SENT. */
bool bwl_barrier_admits(bwl_session *session, const bwl_request *request);

/* How many of them, from the nth of the pipeline on, are one command.  Writing it and reading its
 * reply: as of a batch. */
size_t            bwl_barrier_size(const bwl_session *session, size_t nth);
bool              bwl_barrier_write(bwl_session *session, size_t nth, size_t size);
bwl_redis_verdict bwl_barrier_on_reply(bwl_session *session, const char *bytes, size_t size);

/* Too few replicas have it: makes that the lock's error text. */
void bwl_barrier_set_error(bwl_session *session, const bwl_request *request, const char *bytes,
                           size_t size);

/* This one has been completed, or was not submitted. */
void bwl_barrier_over(bwl_session *session, const bwl_request *over);

/* ---- renewal_batch.c */

/* How many requests, from the nth of the pipeline on, go out as one command; 1: it goes alone. */
size_t bwl_batch_size(const bwl_session *session, size_t nth);

/* Into the connection.  False: there is no room. */
bool bwl_batch_write(bwl_session *session, size_t nth, size_t size);

/* The frame answers the batch that is the oldest: each request has its answer now, or is to be sent
 * again. */
bwl_redis_verdict bwl_batch_on_reply(bwl_session *session, const char *bytes, size_t size);

/* One that went out alone has its answer: whether it may be in a batch the next time. */
void bwl_batch_learn(const bwl_request *request, bwl_answer answer);
