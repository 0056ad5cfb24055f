/*
 * stream_tls.h -- shared by stream.c and stream_tls.c: the functions of an encrypted connection.
 *
 *      conn.out (clear) --> session --> socket         conn.in (clear) <-- session <-- socket
 *
 * conn.out has the bytes that were not completely sent, and handed_over counts clear bytes, as
 * without TLS; a byte counts as handed over when the socket took the first byte of its record.
 */
#pragma once

#include "net/stream.h"

/* As the functions of stream.h with the same names, for a connection with a TLS session and a
 * connected socket. */
int  bwl_stream_tls_step(bwl_stream *conn, bool may_receive, bwl_fault *fault);
int  bwl_stream_tls_flush(bwl_stream *conn, bwl_fault *fault);
void bwl_stream_tls_goodbye(bwl_stream *conn);

/* Reads, and continues the handshake; ends the connecting when the handshake is complete. */
int bwl_stream_tls_receive(bwl_stream *conn, bwl_fault *fault);

/* ---- in stream.c, for both */

int  bwl_stream_broken(bwl_fault *fault, const char *what); /* text from errno */
bool bwl_stream_make_room(bwl_stream *conn);                /* to read into */
void bwl_stream_watch_out(bwl_stream *conn, bool wants_out);
