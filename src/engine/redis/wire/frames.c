/*
 * frames.c -- see frames.h.
 */
#include "engine/redis/wire/frames.h"
#include "core/text.h"

#include <string.h>

enum { HEAD_MAX = 24 }; /* "$1099511627776\r\n" has 16 bytes */

#define LONG_MAX_BYTES (UINT64_C(1) << 40) /* no server has a longer value */

void bwl_frames_reset(bwl_frames *frames)
{
    frames->scan      = (bwl_resp_scan){ 0 };
    frames->long_left = 0;
}

/* Reads the head of a value that is too long for a frame, such as "$1000000\r\n".  False: it is not
 * such a head, or not complete. */
static bool read_long_head(const char *bytes, size_t size, size_t *ret_head, uint64_t *ret_length)
{
    const char *end = memchr(bytes, '\r', size);

    if (end == NULL || (size_t)(end - bytes) + 2 > size)
        return false;
    *ret_head = (size_t)(end - bytes) + 2;
    return end[1] == '\n' &&
           bwl_number_parse(ret_length, bytes + 1, (size_t)(end - bytes) - 1, LONG_MAX_BYTES);
}

static bwl_frame_status pass_over(bwl_frames *frames, size_t size, size_t *ret_consumed)
{
    uint64_t skipped = frames->long_left < size ? frames->long_left : size;

    *ret_consumed += (size_t)skipped;
    frames->long_left -= skipped;
    if (frames->long_left > 0)
        return BWL_FRAME_MORE;
    frames->scan = (bwl_resp_scan){ 0 };
    return BWL_FRAME_PASSED;
}

bwl_frame_status bwl_frames_next(bwl_frames *frames, const char *bytes, size_t size,
                                 size_t *ret_consumed)
{
    size_t   head   = 0;
    uint64_t length = 0;

    *ret_consumed = 0;
    if (size == 0)
        return BWL_FRAME_MORE;
    if (frames->long_left > 0)
        return pass_over(frames, size, ret_consumed);
    switch (bwl_resp_scan_bytes(&frames->scan, bytes, size)) {
    case BWL_RESP_MORE: return BWL_FRAME_MORE;
    case BWL_RESP_OK:
        *ret_consumed = frames->scan.size;
        frames->scan  = (bwl_resp_scan){ 0 };
        return BWL_FRAME_WHOLE;
    case BWL_RESP_MALFORMED: return BWL_FRAME_MALFORMED;
    case BWL_RESP_TOO_BIG:
        if (!frames->passes_long || bytes[0] != '$')
            return BWL_FRAME_TOO_BIG;
        if (!read_long_head(bytes, size, &head, &length))
            return size <= HEAD_MAX ? BWL_FRAME_MORE : BWL_FRAME_TOO_BIG;
        *ret_consumed     = head;
        frames->long_left = length + 2;
        return pass_over(frames, size - head, ret_consumed);
    }
    bwl_unreachable("a status outside of its enum");
}
