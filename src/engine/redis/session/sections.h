/*
 * sections.h -- requests that share a state of the connection: one WATCH ... EXEC at a time, one
 * WAIT at a time, and several renewals as one command.  See transaction.c, replication_barrier.c,
 * renewal_batch.c.
 */
#pragma once

#include "engine/redis/session/session.h"

/* ---- transaction.c */

/* Whether the request may be sent now.  False: it is deferred until the transactions before it have
 * ended; or its transaction was lost with its connection, and it is completed as NOT_SENT. */
bool bwl_watch_admits(bwl_session *session, const bwl_request *request);

/* After a submit: if it was the last request of its transaction, the next transaction begins. */
void bwl_watch_submitted(bwl_session *session, const bwl_request *request);

/* WATCH showed nothing to do, or was not sent: its transaction ends without another request. */
void bwl_watch_failed(bwl_session *session, const bwl_request *request);

/* ---- replication_barrier.c */

bool bwl_request_is_barrier(const bwl_request *request);

/* Whether it may be sent now.  False: it is deferred until the WAIT in flight is answered; or there
 * is no connection, and it is completed as NOT_SENT. */
bool bwl_barrier_admits(bwl_session *session, const bwl_request *request);

/* How many requests, from the nth of the pipeline on, are one WAIT.  Write and read as for a
 * batch. */
size_t            bwl_barrier_size(const bwl_session *session, size_t nth);
bool              bwl_barrier_write(bwl_session *session, size_t nth, size_t size);
bwl_redis_verdict bwl_barrier_on_reply(bwl_session *session, const char *bytes, size_t size);

/* Too few replicas acknowledged: sets the lock's error text. */
void bwl_barrier_set_error(bwl_session *session, const bwl_request *request, const char *bytes,
                           size_t size);

/* This request was completed, or was not submitted. */
void bwl_barrier_over(bwl_session *session, const bwl_request *over);

/* ---- renewal_batch.c */

/* How many requests, from the nth of the pipeline on, are sent as one command; 1: no batch. */
size_t bwl_batch_size(const bwl_session *session, size_t nth);

/* Writes them as one command.  False: no room. */
bool bwl_batch_write(bwl_session *session, size_t nth, size_t size);

/* Reads the reply to the oldest batch: each request gets its answer, or is to be sent again. */
bwl_redis_verdict bwl_batch_on_reply(bwl_session *session, const char *bytes, size_t size);

/* Learns from the answer to a request sent alone whether it may be batched again. */
void bwl_batch_learn(const bwl_request *request, bwl_answer answer);
