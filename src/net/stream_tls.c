/*
 * stream_tls.c -- sends and receives through a TLS session.  See stream_tls.h, and tls.h for the
 * session.
 */
#include "net/stream_tls.h"
#include "base/fault.h"

#include <errno.h>
#include <sys/socket.h>

enum { PIECE_MAX = 16 * 1024 };

/* Sends the session's output.  1: all of it; 0: the socket is full; below 0: the socket is
 * broken. */
static int send_encrypted(bwl_stream *conn, bwl_fault *fault)
{
    const char *bytes;
    size_t      size;

    while ((size = bwl_tls_out(conn->tls, &bytes)) > 0) {
        ssize_t sent = send(conn->source.fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (sent < 0)
            return bwl_stream_broken(fault, "the connection broke");
        bwl_tls_sent(conn->tls, (size_t)sent);
        conn->handed_over = bwl_tls_handed_over(conn->tls);
    }
    return 1;
}

/* The session has failed: its remaining output is the alert that tells the peer the reason.  A
 * record of ours may precede it; that is then sent as well, and counted. */
static int failed(bwl_stream *conn, int status)
{
    assert(status < 0);
    (void)send_encrypted(conn, NULL);
    return status;
}

/* The socket is broken.  If there is an unread alert of the peer, it has the better reason. */
static int broken(bwl_stream *conn, int status, bwl_fault *fault)
{
    bwl_fault alert = { 0 };

    if (bwl_stream_tls_receive(conn, &alert) != BWL_STATUS_REFUSED)
        return status;
    if (fault != NULL)
        *fault = alert;
    return BWL_STATUS_REFUSED;
}

int bwl_stream_tls_flush(bwl_stream *conn, bwl_fault *fault)
{
    for (;;) {
        int sent = send_encrypted(conn, fault);
        if (sent < 0)
            return broken(conn, sent, fault);
        if (sent == 0) {
            bwl_stream_watch_out(conn, true);
            return BWL_OK;
        }
        if (conn->connecting || conn->out_sent == conn->out_size)
            break;
        ssize_t taken = bwl_tls_write(conn->tls, conn->out + conn->out_sent,
                                      conn->out_size - conn->out_sent, fault);
        if (taken < 0)
            return failed(conn, (int)taken);
        if (taken == 0)
            break; /* the session needs input first, which is followed by a flush */
        conn->out_sent += (size_t)taken;
    }
    bwl_stream_watch_out(conn, false);
    return BWL_OK;
}

/* Receives once from the socket.  OK also if there is nothing. */
static int take_encrypted(bwl_stream *conn, bwl_fault *fault)
{
    char   bytes[PIECE_MAX];
    size_t room = bwl_tls_room(conn->tls);

    if (room == 0)
        return BWL_OK;
    for (;;) {
        ssize_t got = recv(conn->source.fd, bytes, room < sizeof bytes ? room : sizeof bytes, 0);
        if (got > 0) {
            conn->heard = true;
            return bwl_tls_feed(conn->tls, bytes, (size_t)got, fault);
        }
        if (got == 0) {
            bwl_tls_feed_end(conn->tls);
            return BWL_OK;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return BWL_OK;
        if (errno != EINTR)
            return bwl_stream_broken(fault, "the connection broke");
    }
}

/* Reads all clear bytes: no event announces the rest. */
static int read_clear(bwl_stream *conn, bwl_fault *fault)
{
    for (;;) {
        if (!bwl_stream_make_room(conn))
            return bwl_fail(fault, BWL_STATUS_NOMEM, "no memory for what the server sends");
        ssize_t got =
            bwl_tls_read(conn->tls, conn->in + conn->in_size, conn->in_room - conn->in_size, fault);
        if (got <= 0)
            return (int)got;
        conn->in_size += (size_t)got;
    }
}

int bwl_stream_tls_receive(bwl_stream *conn, bwl_fault *fault)
{
    int status = take_encrypted(conn, fault);

    if (status < 0)
        return status; /* an error of the socket or no memory: the session does not have it */
    if ((status = bwl_tls_step(conn->tls, fault)) < 0 || (status = read_clear(conn, fault)) < 0)
        return failed(conn, status);
    if (bwl_tls_is_open(conn->tls))
        conn->connecting = false;
    return BWL_OK;
}

int bwl_stream_tls_step(bwl_stream *conn, bool may_receive, bwl_fault *fault)
{
    int status = BWL_OK;

    if (may_receive || conn->connecting)
        status = bwl_stream_tls_receive(conn, fault);
    /* Always: a step of the handshake, or a reply to the peer's, may have produced output. */
    return status < 0 ? status : bwl_stream_flush(conn, fault);
}

void bwl_stream_tls_goodbye(bwl_stream *conn)
{
    const char *bytes;

    /* A pending record would be sent with the goodbye: it does not count as handed over, so it must
     * not be sent now. */
    if (conn->connecting || conn->out_size > 0 || bwl_tls_out(conn->tls, &bytes) > 0)
        return;
    bwl_tls_goodbye(conn->tls);
    (void)send_encrypted(conn, NULL);
}
