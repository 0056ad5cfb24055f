/*
 * inside.h -- functions that only the files of a session share.
 */
#pragma once

#include "engine/redis/session/session.h"

/* ---- connect.c */

/* Starts to connect if there is no connection. */
void bwl_session_connect(bwl_session *session);

/* The current address failed: tries the next one. */
void bwl_session_next_address(bwl_session *session, bwl_fault *fault);

/* An attempt failed, or a connection that never answered a request: starts the backoff. */
void bwl_session_back_off(bwl_session *session);

/* The discovered server cannot be used.  True: another one is being discovered, and the attempt
 * goes on; or discovery failed at once, and the attempt is over. */
bool bwl_session_try_next(bwl_session *session, const bwl_fault *fault);

/* Prefixes the fault's text with the server's name. */
void bwl_session_name_place(const bwl_session *session, bwl_fault *fault);

/* ---- session.c */

/* Reads what arrived.  `status` below 0: the connection is broken, and the fault has the reason. */
void bwl_session_receive(bwl_session *session, int status, bwl_fault *fault);

/* ---- handshake.c */

/* Writes the first commands.  Below 0: the connection is broken. */
int bwl_handshake_begin(bwl_session *session, bwl_fault *fault);

/* Reads the next reply.  OK; REFUSED: permanent; UNREACHABLE: temporary; the fault has the
 * reason. */
int bwl_handshake_on_reply(bwl_session *session, const char *bytes, size_t size, bwl_fault *fault);

/* Adds the likely cause to a fault before READY.  is_silent: a time limit, not an event of the
 * connection.  True: the fault is final (REFUSED), and no request was sent. */
bool bwl_handshake_add_hint(const bwl_session *session, bool is_silent, bwl_fault *fault);

/* The server replied with this error, or nothing that it should.  REFUSED or UNREACHABLE. */
int bwl_handshake_turned_away(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault);
int bwl_handshake_unexpected(const bwl_session *session, bwl_fault *fault);

/* ---- push_channel.c */

/* Writes the channel's part of the handshake, at most BWL_QUEUE_HANDSHAKE_SIZE_MAX bytes.  SYSTEM:
 * no random bits. */
int bwl_push_channel_write(bwl_session *session, bwl_resp_writer *writer, bwl_fault *fault);

/* The same, and sends it.  is_again: with the same channel. */
int bwl_push_channel_send(bwl_session *session, bool is_again, bwl_fault *fault);

/* HELLO showed whether the server has SSUBSCRIBE. */
void bwl_push_channel_on_version(bwl_session *session, bool has_shards);

/* As bwl_handshake_on_reply.  On OK, session->handshake.step is the next step, or this was the last
 * reply. */
int bwl_push_channel_on_reply(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault);

/* Handles a push. */
void bwl_push_channel_on_push(bwl_session *session, const char *bytes, size_t size);

/* ---- transaction.c */

/* Whether the request may be sent now.  False: it is deferred until the transactions before it have
 * ended; or its transaction was lost with its connection, and it is completed as NOT_SENT. */
bool bwl_watch_admits(bwl_session *session, const bwl_request *request);

/* After a submit: if it was the last request of its transaction, the next transaction begins. */
void bwl_watch_submitted(bwl_session *session, const bwl_request *request);

/* An error is the reply to a request of a transaction: its lock sends no other one. */
void bwl_watch_answered(bwl_session *session, const bwl_request *request, bwl_answer answer);

/* WATCH showed nothing to do, or was not sent: its transaction ends without another request. */
void bwl_watch_failed(bwl_session *session, const bwl_request *request);

/* ---- batch.c: WAIT */

bool bwl_request_is_barrier(const bwl_request *request);

/* Whether it may be sent now.  False: it is deferred until the WAIT in flight is answered; or there
 * is no connection, and it is completed as NOT_SENT. */
bool bwl_barrier_admits(bwl_session *session, const bwl_request *request);

/* Too few replicas acknowledged: sets the lock's error text. */
void bwl_barrier_set_error(bwl_session *session, const bwl_request *request, const char *bytes,
                           size_t size);

/* This request was completed, or was not submitted. */
void bwl_barrier_over(bwl_session *session, const bwl_request *over);

/* ---- batch.c */

/* How many requests, from the nth of the pipeline on, are sent as one command; 1: no batch. */
size_t bwl_batch_size(const bwl_session *session, size_t nth);

/* Writes them as one command.  False: no room. */
bool bwl_batch_send(bwl_session *session, size_t nth, size_t size);

/* Reads the reply to the oldest batch: each request gets its answer, or is to be sent again. */
bwl_redis_verdict bwl_batch_on_reply(bwl_session *session, const char *bytes, size_t size);

/* Learns from the answer to a request sent alone whether it may be batched again. */
void bwl_batch_learn(const bwl_request *request, bwl_answer answer);
