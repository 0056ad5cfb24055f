/*
 * resp_stream.h -- a stream that carries RESP: requests are written into it, frames are read from
 * it.
 */
#pragma once

#include "engine/redis/wire/resp.h"
#include "net/stream.h"

enum { BWL_RESP_STREAM_IN_MAX = BWL_RESP_FRAME_MAX + 16 * 1024 + BWL_TLS_IN_MAX }; /* bytes */

typedef struct bwl_resp_stream {
    bwl_stream stream; /* first: the reactor points to its source */
    bwl_frames frames;
} bwl_resp_stream;

/* As bwl_stream_init.  The caller that opens the stream resets the frames. */
void bwl_resp_stream_init(bwl_resp_stream *conn, bwl_reactor *reactor,
                          void (*ready)(bwl_source *source, uint32_t events));

/* Reserves `size` bytes for a writer, to be committed at once.  False: the buffer is full, or no
 * memory. */
bool bwl_resp_stream_reserve(bwl_resp_stream *conn, size_t size, bwl_resp_writer *ret_writer);
void bwl_resp_stream_commit(bwl_resp_stream *conn, const bwl_resp_writer *writer);

/* Writes one command of at most `size` bytes, see bwl_resp_write.  False: as above. */
__attribute__((format(printf, 3, 4))) bool bwl_resp_stream_write(bwl_resp_stream *conn, size_t size,
                                                                 const char *format, ...);

/* The next complete frame, valid until the next call on this stream.  1: a frame; 0: not complete
 * yet; REFUSED: not RESP, or longer than any reply.  While frames.passes_long is set, a value
 * longer than a frame is skipped, and the frame has no bytes (NULL). */
int bwl_resp_stream_frame(bwl_resp_stream *conn, const char **ret_bytes, size_t *ret_size,
                          bwl_fault *fault);
