/*
 * sentinel_text.h -- what is wrong with a sentinel, in words for people: what, why, and what to
 * type.
 */
#pragma once

#include "net/stream.h"

/* It answers with an error, of which nothing is quoted that repeats a part of our password.
 * REFUSED, or UNREACHABLE: it cannot answer now. */
int bwl_sentinel_turned_away(const char *password, const char *bytes, size_t size,
                             bwl_fault *fault);

/* It watches no such service.  REFUSED. */
int bwl_sentinel_knows_none(const char *service, bwl_fault *fault);

/* Adds to the fault for which this connection is given up what may be its cause.  is_silent: it is
 * a time-out, not an event of the connection.  A TLS answer to clear text is REFUSED. */
void bwl_sentinel_suspect(const bwl_stream *conn, bool is_silent, bwl_fault *fault);
