#include "engine/redis/session/resp_stream.h"
#include "base/fault.h"

void bwl_resp_stream_init(bwl_resp_stream *conn, bwl_reactor *reactor,
                          void (*ready)(bwl_source *source, uint32_t events))
{
    bwl_stream_init(&conn->stream, reactor, ready, BWL_RESP_STREAM_IN_MAX);
    conn->frames = (bwl_frames){ .passes_long = false };
}

bool bwl_resp_stream_reserve(bwl_resp_stream *conn, size_t size, bwl_resp_writer *ret_writer)
{
    char *room = bwl_stream_reserve(&conn->stream, size);

    if (room == NULL)
        return false;
    *ret_writer = (bwl_resp_writer){ .bytes = room, .capacity = size };
    return true;
}

void bwl_resp_stream_commit(bwl_resp_stream *conn, const bwl_resp_writer *writer)
{
    assert(!writer->overflowed);
    bwl_stream_commit(&conn->stream, writer->size);
}

bool bwl_resp_stream_write(bwl_resp_stream *conn, size_t size, const char *format, ...)
{
    bwl_resp_writer writer;
    va_list         list;

    if (!bwl_resp_stream_reserve(conn, size, &writer))
        return false;
    va_start(list, format);
    bwl_resp_write_list(&writer, format, list);
    va_end(list);
    bwl_resp_stream_commit(conn, &writer);
    return true;
}

int bwl_resp_stream_frame(bwl_resp_stream *conn, const char **ret_bytes, size_t *ret_size,
                          bwl_fault *fault)
{
    size_t           size, consumed;
    const char      *unread = bwl_stream_unread(&conn->stream, &size);
    bwl_frame_status status = bwl_frames_next(&conn->frames, unread, size, &consumed);

    bwl_stream_consume(&conn->stream, consumed);
    switch (status) {
    case BWL_FRAME_MORE: return 0;
    case BWL_FRAME_WHOLE:
        *ret_bytes = unread;
        *ret_size  = consumed;
        return 1;
    case BWL_FRAME_PASSED:
        *ret_bytes = NULL;
        *ret_size  = 0;
        return 1;
    case BWL_FRAME_MALFORMED:
        return bwl_fail(fault, BWL_STATUS_REFUSED, "what answers there is not a Redis server");
    case BWL_FRAME_TOO_BIG:
        return bwl_fail(fault, BWL_STATUS_REFUSED, "the server sends more than any answer needs");
    }
    bwl_unreachable("a status outside of its enum");
}
