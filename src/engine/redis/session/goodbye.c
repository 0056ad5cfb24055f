/*
 * goodbye.c -- the last commands of a session whose client closes.  See session.h.
 */
#include "engine/redis/session/session.h"

static bool has_spoken(const bwl_session *session)
{
    /* A handshake may have published client info, which must be deleted. */
    return session->phase == BWL_SESSION_READY ||
           (session->phase == BWL_SESSION_HANDSHAKE && bwl_session_uses_push(session));
}

void bwl_session_say_goodbye(bwl_session *session)
{
    if (!has_spoken(session)) {
        bwl_stream_close(&session->link.conn.stream);
        return;
    }
    if (bwl_session_uses_push(session) && session->owner->write_goodbye != NULL)
        session->owner->write_goodbye(session);
    session->has_replies =
        session->has_replies || session->phase != BWL_SESSION_READY || session->pipeline.count > 0;
}

bool bwl_session_finish_goodbye(bwl_session *session)
{
    bwl_stream *stream = &session->link.conn.stream;

    if (!bwl_stream_is_open(stream))
        return true;
    if (stream->out_size > 0 || !session->said_goodbye) {
        if (bwl_stream_flush(stream, NULL) < 0)
            return true;
        if (stream->out_size > 0)
            return false;
        bwl_stream_goodbye(stream);
        session->said_goodbye = true;
        if (!session->has_replies || !bwl_stream_shut(stream))
            return true;
    }
    return bwl_stream_drain(stream);
}
