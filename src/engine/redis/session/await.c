/*
 * await.c -- waiting for a reply in the socket itself.
 *
 * A thread that has submitted a request, and has nothing else to do before the reply, blocks in a
 * read of the socket.  That saves the poll, one of three system calls for a request.  The thread
 * cannot be woken up there, so it blocks only briefly.
 */
#include "engine/redis/session/inside.h"

#include <errno.h>

/* Not for the first reply of a connection: a program that sends one request gains nothing. */
static bool is_worth_it(const bwl_session *session, bwl_ms until)
{
    return session->phase == BWL_SESSION_READY && session->link.has_answered &&
           session->pipeline.count > 0 &&
           until >= bwl_ms_add(session->host->latest, BWL_STREAM_AWAIT_MS);
}

bool bwl_session_await(bwl_session *session, bwl_ms until)
{
    bwl_host   *host   = session->host;
    bwl_stream *stream = &session->link.conn.stream;
    char        bytes[BWL_STREAM_AWAIT_ROOM];
    bwl_fault   fault = { 0 };

    if (!is_worth_it(session, until))
        return false;
    int fd = bwl_stream_await_begin(stream);
    if (fd < 0)
        return false;
    bwl_spin_wait wait = bwl_spin_plan(&session->link.spin, host->latest);
    bwl_host_unlock(host);
    ssize_t got   = bwl_spin_receive(&wait, fd, bytes, sizeof bytes);
    int     error = errno;
    bwl_host_lock(host);
    session->link.heard_at = bwl_host_now(host);
    bwl_spin_learn(&session->link.spin, &wait, got >= 0, host->latest);
    if (!bwl_stream_await_end(stream))
        return true;
    if (got < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR))
        return false;
    errno      = error;
    int status = bwl_stream_take(stream, bytes, got, &fault);
    bwl_session_receive(session, status, &fault);
    if (session->owner->on_change != NULL)
        session->owner->on_change(session);
    return true;
}
