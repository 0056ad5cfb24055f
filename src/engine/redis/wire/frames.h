/*
 * frames.h -- where the frames of RESP end in a stream of bytes.  Pure.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_FRAMES_H
#define BWL_ENGINE_REDIS_WIRE_FRAMES_H

#include "engine/redis/wire/resp.h"

typedef struct bwl_frames {
    bwl_resp_scan scan;
    uint64_t      long_left;   /* bytes of a value that are still to be passed over              */
    bool          passes_long; /* set by the owner: a value longer than any frame may come now   */
} bwl_frames;

typedef enum bwl_frame_status {
    BWL_FRAME_MORE = 1,  /* no whole frame yet                                                    */
    BWL_FRAME_WHOLE,     /* one frame: `bytes`, `size`                                            */
    BWL_FRAME_PASSED,    /* the end of a value that was passed over without being kept            */
    BWL_FRAME_MALFORMED, /* this is not RESP                                                      */
    BWL_FRAME_TOO_BIG,   /* longer than BWL_RESP_FRAME_MAX                                        */
} bwl_frame_status;

/* Looks at the `size` bytes that came and were not consumed.  *ret_consumed of them are done with:
 * the frame itself if there is a whole one, which begins at `bytes`.  While passes_long is set, a
 * bulk string that is too long for a frame is consumed piece by piece, up to 1 TiB. */
bwl_frame_status bwl_frames_next(bwl_frames *frames, const char *bytes, size_t size,
                                 size_t *ret_consumed);

/* A new stream begins. */
void bwl_frames_reset(bwl_frames *frames);

#endif
