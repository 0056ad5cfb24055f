/*
 * stream_tls.h -- what stream.c and stream_tls.c share: the parts of a connection that differ when
 * it is encrypted.
 *
 *      conn.out (clear) --> session --> socket         conn.in (clear) <-- session <-- socket
 *
 * conn.out holds what was not wholly handed over yet, and handed_over counts clear bytes, as
 * without TLS; a byte counts as handed over when the socket took the first byte of its record.
 */
#pragma once

#include "net/stream.h"

/* As the functions of stream.h with the same names, of a connection that has a session, once its
 * socket is connected. */
int  bwl_stream_tls_step(bwl_stream *conn, bool may_receive, bwl_fault *fault);
int  bwl_stream_tls_flush(bwl_stream *conn, bwl_fault *fault);
void bwl_stream_tls_goodbye(bwl_stream *conn);

/* Reads what has come, and takes the handshake on; ends the connecting when it is over. */
int bwl_stream_tls_receive(bwl_stream *conn, bwl_fault *fault);

/* ---- stream.c's, for both
 * ---------------------------------------------------------------------- */

int  bwl_stream_broken(bwl_fault *fault, const char *what); /* by errno */
bool bwl_stream_make_room(bwl_stream *conn);                /* to read into */
void bwl_stream_watch_out(bwl_stream *conn, bool wants_out);
