/*
 * inside.h -- what the files of a session share, beside session.h.
 */
#pragma once

#include "engine/redis/session/session.h"

/* ---- connect.c */

/* A connection is wanted, and there is none. */
void bwl_session_connect(bwl_session *session);

/* The address that is being tried is no good: tries the next one. */
void bwl_session_next_address(bwl_session *session, bwl_fault *fault);

/* The attempt, or a connection that never answered a request, has failed: the next one waits. */
void bwl_session_back_off(bwl_session *session);

/* The server that was found does not serve.  True: another one is looked for, and the attempt goes
 * on; or that has failed at once, and the attempt is over. */
bool bwl_session_try_next(bwl_session *session, const bwl_fault *fault);

/* Puts the server's name before the text of a fault. */
void bwl_session_name_place(const bwl_session *session, bwl_fault *fault);

/* ---- session.c */

/* Something came, or the connection broke (status, and the fault): takes what is there. */
void bwl_session_receive(bwl_session *session, int status, bwl_fault *fault);
