/*
 * wire.h -- a plain connection to a server: commands are buffered and written at once, and their
 * replies read as frames.
 */
#pragma once

#include "engine/redis/wire/resp.h"

enum { WIRE_ROOM = 64 * 1024 };

typedef struct wire {
    int             fd;
    bwl_resp_writer out; /* write commands here                                                  */
    size_t          begin, end;
    char            out_bytes[WIRE_ROOM];
    char            in_bytes[WIRE_ROOM];
} wire;

/* Fails the test if no server listens.  Close with wire_close. */
void wire_open(wire *w, const char *socket_path);
void wire_close(wire *w);

/* Sends the buffered commands. */
void wire_flush(wire *w);

/* Waits for the next frame, ten seconds at most; fails the test if there is none.  It lives until
 * the next call. */
bwl_resp_cursor wire_next(wire *w);

/* Sends a command, words with blanks between them, and waits for its reply. */
bwl_resp_cursor wire_ask(wire *w, const char *words);

/* Buffers a command without sending it. */
void wire_say(wire *w, const char *words);
