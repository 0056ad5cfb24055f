/*
 * stream_end.c -- the orderly end of a stream.  See stream.h.
 */
#include "net/stream.h"

#include <errno.h>
#include <poll.h>

bool bwl_stream_shut(bwl_stream *conn)
{
    return shutdown(conn->source.fd, SHUT_WR) == 0;
}

bool bwl_stream_drain(bwl_stream *conn)
{
    char    bytes[512];
    ssize_t got;

    do {
        got = recv(conn->source.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    } while (got > 0);
    return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void bwl_stream_wait(bwl_stream *const *streams, unsigned count, bwl_ms wait_ms)
{
    struct pollfd events[BWL_STREAM_WAIT_MAX];

    assert(count <= BWL_STREAM_WAIT_MAX);
    for (unsigned i = 0; i < count; i++)
        events[i] =
            (struct pollfd){ .fd     = streams[i]->source.fd,
                             .events = (short)(streams[i]->out_size > 0 ? POLLOUT : POLLIN) };
    (void)poll(events, count, (int)wait_ms); /* an error only ends the wait early */
}
