/*
 * frames.h -- splits a stream of bytes into RESP frames.  No I/O.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_FRAMES_H
#define BWL_ENGINE_REDIS_WIRE_FRAMES_H

#include "engine/redis/wire/resp.h"

typedef struct bwl_frames {
    bwl_resp_scan scan;
    uint64_t      long_left;   /* bytes of a long value that are still to be skipped */
    bool          passes_long; /* set by the owner: a value longer than a frame may come */
} bwl_frames;

typedef enum bwl_frame_status {
    BWL_FRAME_MORE = 1,  /* no whole frame yet */
    BWL_FRAME_WHOLE,     /* one frame */
    BWL_FRAME_PASSED,    /* the end of a value that was skipped */
    BWL_FRAME_MALFORMED, /* not RESP */
    BWL_FRAME_TOO_BIG,   /* longer than BWL_RESP_FRAME_MAX */
} bwl_frame_status;

/* Scans the `size` bytes that are not consumed yet.  *ret_consumed: how many of them are consumed
 * now; for WHOLE that is the frame, which begins at `bytes`.  While passes_long is set, a bulk
 * string that is too long for a frame is consumed in pieces, up to 1 TiB. */
bwl_frame_status bwl_frames_next(bwl_frames *frames, const char *bytes, size_t size,
                                 size_t *ret_consumed);

/* For a new stream. */
void bwl_frames_reset(bwl_frames *frames);

#endif
