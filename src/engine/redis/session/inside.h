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
