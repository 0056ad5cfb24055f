/*
 * connect.c -- the connection attempts of a session, its time limits, and its end.  See session.h.
 *
 * An attempt resolves the host and tries its addresses in turn, each up to the end of the TLS
 * handshake, all within one answer_ms.  The next attempt resolves the host again, because it may
 * have moved.
 *
 * If the owner discovers the server, an attempt has one answer_ms for the discovery and one for the
 * server that is found; if that server cannot be used and time is left, another one is discovered
 * within it.
 *
 * After a failed attempt there is a backoff of 10 ms, doubling up to a second, half of it random.
 * Requests submitted meanwhile wait: an immediate error would be wrong about a server that has just
 * come back, and a thousand locks would each have to try themselves.  The backoff is at most half
 * of answer_ms, so that no request waits much longer than for a silent server.
 */
#include "base/fault.h"
#include "engine/redis/session/inside.h"
#include "lock/backoff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    BACKOFF_MAX_MS = 1000,
    QUIT_ROOM      = 64, /* for CLIENT REPLY ON, and for QUIT */
};

void bwl_session_name_place(const bwl_session *session, bwl_fault *fault)
{
    bwl_fault bare = *fault;

    (void)bwl_fail_because(fault, (bwl_status)bare.status, &bare, "%s: %s", session->endpoint.text,
                           bare.text);
}

static void enter(bwl_session *session, bwl_session_phase phase, bwl_ms ends_at)
{
    session->phase          = phase;
    session->phase_began_at = bwl_host_now(session->host);
    session->phase_ends_at  = ends_at;
}

void bwl_session_back_off(bwl_session *session)
{
    bwl_session_attempt *attempt = &session->attempt;
    bwl_ms     longest_ms = bwl_ms_min(BACKOFF_MAX_MS, session->host->settings.answer_ms / 2);
    bwl_random bits       = { 0 };

    /* Without random bits, the clients retry in step, which is only slower. */
    (void)bwl_entropy_draw(&session->host->entropy, &bits);
    attempt->backoff_until =
        bwl_host_now(session->host) + bwl_backoff_ms(attempt->failures, longest_ms, &bits);
    attempt->failures++;
}

/* No address is left.  A refusal outweighs the errors of the other addresses: it needs correction,
 * and "localhost" often has an address at which no server listens. */
static void fail_attempt(bwl_session *session, bwl_fault *fault)
{
    bool refused = session->attempt.refusal.status != 0;

    if (refused)
        *fault = session->attempt.refusal;
    bwl_session_name_place(session, fault);
    bwl_session_break(session, fault, refused);
}

static void wake(void *arg)
{
    bwl_host_wake(arg);
}

/* Handles a result of the dialer: resolving, connecting, or failed. */
static void on_dial(bwl_session *session, int result, bwl_fault *fault)
{
    const bwl_dialer *dialer = &session->link.dialer;

    if (result < 0) {
        if (result == BWL_STATUS_REFUSED)
            session->attempt.refusal = *fault;
        fail_attempt(session, fault);
        return;
    }
    if (result == BWL_DIAL_RESOLVING) {
        enter(session, BWL_SESSION_RESOLVING, dialer->ends_at);
        return;
    }
    enter(session, BWL_SESSION_CONNECTING, dialer->ends_at);
    session->link.conn.frames = (bwl_frames){ .long_left = 0 };
    session->link.opened++;
    session->link.has_answered = false;
    session->batches_refused   = 0;
    memset(session->scripts.text_at, 0, sizeof session->scripts.text_at);
}

void bwl_session_next_address(bwl_session *session, bwl_fault *fault)
{
    on_dial(session, bwl_dialer_next(&session->link.dialer, bwl_host_now(session->host), fault),
            fault);
}

/* Dials the known address of the server. */
static void dial_endpoint(bwl_session *session)
{
    const bwl_dial to        = { .host     = session->endpoint.host,
                                 .port     = session->endpoint.port,
                                 .wake     = wake,
                                 .wake_arg = session->host };
    bwl_ms         now       = bwl_host_now(session->host);
    bwl_ms         answer_ms = session->host->settings.answer_ms;
    bwl_ms         until     = bwl_ms_add(now, answer_ms);
    bwl_fault      fault     = { 0 };

    if (session->owner->discover != NULL)
        until = bwl_ms_min(until, session->attempt.until);
    enter(session, BWL_SESSION_RESOLVING, until);
    on_dial(session,
            bwl_dialer_start(&session->link.dialer, &to, now, until,
                             answer_ms + (bwl_ms)BACKOFF_MAX_MS, &fault),
            &fault);
}

/* Drops the server that is being tried. */
static void drop_server(bwl_session *session)
{
    bwl_stream_close(&session->link.conn.stream);
    session->server.connection_id = 0;
    enter(session, BWL_SESSION_DISCOVERING, BWL_NEVER); /* the discovery has its own time limit */
}

static void begin(bwl_session *session)
{
    bwl_fault fault = { 0 };
    bwl_ms    now   = bwl_host_now(session->host);

    session->attempt.refusal   = (bwl_fault){ 0 };
    session->attempt.candidate = (bwl_fault){ 0 };
    session->attempt.until     = bwl_ms_add(now, 2 * session->host->settings.answer_ms);
    if (bwl_reactor_open(&session->host->reactor, &fault) < 0) {
        fail_attempt(session, &fault);
    } else if (session->owner->discover != NULL) {
        drop_server(session);
        session->owner->discover(session);
    } else {
        dial_endpoint(session);
    }
}

/* True: another host, or another port. */
static bool take_endpoint(bwl_session *session, const bwl_endpoint *found)
{
    bwl_endpoint *endpoint = &session->endpoint;

    if (endpoint->host != NULL && endpoint->port == found->port &&
        strcmp(endpoint->host, found->host) == 0)
        return true;
    char *host = strdup(found->host);
    if (host == NULL)
        return false;
    free(endpoint->host);
    *endpoint      = *found;
    endpoint->host = host;
    bwl_dialer_forget(&session->link.dialer);
    if (session->config->tls != NULL)
        bwl_stream_secure(&session->link.conn.stream, session->config->tls, endpoint->host);
    return true;
}

void bwl_session_found(bwl_session *session, const bwl_endpoint *endpoint)
{
    bwl_fault no_mem = { .status = BWL_STATUS_NOMEM, .text = "out of memory" };

    bwl_stream_close(&session->link.conn.stream); /* to the previous server */
    if (!take_endpoint(session, endpoint)) {
        bwl_session_not_found(session, &no_mem);
        return;
    }
    drop_server(session);
    dial_endpoint(session);
}

void bwl_session_not_found(bwl_session *session, const bwl_fault *fault)
{
    bwl_fault copy = *fault;

    drop_server(session);
    if (session->attempt.candidate.status != 0) { /* a server was found, and cannot be used */
        copy = session->attempt.candidate;
        bwl_session_break(session, &copy, copy.status == BWL_STATUS_REFUSED);
        return;
    }
    if (fault->status == BWL_STATUS_REFUSED)
        session->attempt.refusal = *fault;
    fail_attempt(session, &copy);
}

bool bwl_session_try_next(bwl_session *session, const bwl_fault *fault)
{
    bool is_found = session->phase == BWL_SESSION_RESOLVING ||
                    session->phase == BWL_SESSION_CONNECTING ||
                    (session->phase == BWL_SESSION_HANDSHAKE && !session->handshake.is_put_off);

    if (session->owner->discover_next == NULL || !is_found || session->host->closing)
        return false;
    session->attempt.candidate = *fault;
    drop_server(session);
    return session->owner->discover_next(session, session->attempt.until);
}

void bwl_session_connect(bwl_session *session)
{
    assert(session->phase == BWL_SESSION_DOWN);
    if (session->host->closing)
        return; /* no reply will be read */
    if (bwl_host_now(session->host) < session->attempt.backoff_until)
        enter(session, BWL_SESSION_BACKOFF, session->attempt.backoff_until);
    else
        begin(session);
}

bool bwl_session_may_be_dead(const bwl_session *session)
{
    return session->attempt.failures > 0 && session->phase != BWL_SESSION_READY;
}

void bwl_session_explain_silence(const bwl_session *session, bwl_fault *ret_why)
{
    const bwl_session_attempt *attempt = &session->attempt;

    if (attempt->broke.status != 0 && attempt->failures > 0) {
        *ret_why = attempt->broke;
        return;
    }
    (void)bwl_fail(ret_why, BWL_STATUS_UNREACHABLE, "%s: no answer before the end of the wait",
                   session->endpoint.text);
    if (session->phase == BWL_SESSION_CONNECTING)
        (void)bwl_handshake_add_hint(session, true, ret_why);
}

bwl_ms bwl_session_deadline(const bwl_session *session)
{
    const bwl_request *head;

    switch (session->phase) {
    case BWL_SESSION_DOWN: return BWL_NEVER;
    case BWL_SESSION_BACKOFF:
    case BWL_SESSION_DISCOVERING:
    case BWL_SESSION_RESOLVING:
    case BWL_SESSION_CONNECTING:
    case BWL_SESSION_HANDSHAKE: return session->phase_ends_at;
    case BWL_SESSION_READY:
        head = bwl_pipeline_head(&session->pipeline);
        if (head == NULL)
            return BWL_NEVER; /* nothing in flight, or it is held back: see flush */
        return bwl_ms_add(bwl_request_due_from(head), session->host->settings.answer_ms);
    }
    bwl_unreachable("a phase outside of its enum");
}

static void is_late(bwl_session *session)
{
    bwl_fault fault;
    long long ms = (long long)session->host->settings.answer_ms;

    if (session->phase == BWL_SESSION_RESOLVING || session->phase == BWL_SESSION_CONNECTING) {
        if (!bwl_dialer_is_late(&session->link.dialer, bwl_host_now(session->host), &fault))
            return;
        if (session->phase == BWL_SESSION_CONNECTING)
            (void)bwl_handshake_add_hint(session, true, &fault);
        bwl_session_next_address(session, &fault);
        return;
    }
    if (session->owner->has_alternative != NULL)
        session->link.has_answered = false; /* as if it could not be connected: others are asked */
    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "no answer within %lld ms", ms);
    (void)bwl_handshake_add_hint(session, true, &fault);
    bwl_session_name_place(session, &fault);
    bwl_session_break(session, &fault, false);
}

void bwl_session_woken(bwl_session *session)
{
    if (session->phase == BWL_SESSION_RESOLVING) {
        bwl_fault fault = { 0 };
        int result = bwl_dialer_woken(&session->link.dialer, bwl_host_now(session->host), &fault);
        if (result != BWL_DIAL_RESOLVING)
            on_dial(session, result, &fault);
    }
    if (bwl_host_now(session->host) < bwl_session_deadline(session))
        return;
    if (session->phase != BWL_SESSION_BACKOFF)
        is_late(session);
    else if (session->pipeline.count > 0 || session->owner->is_needed(session))
        begin(session);
    else
        enter(session, BWL_SESSION_DOWN, BWL_NEVER);
}

/* ---- waiting for a reply in the socket itself ------------------------------------------------ */

/* Not for the first reply of a connection: a program that sends one request gains nothing. */
static bool is_worth_it(const bwl_session *session, bwl_ms until)
{
    return session->phase == BWL_SESSION_READY && session->link.has_answered &&
           session->pipeline.count > 0 &&
           until >= bwl_ms_add(session->host->latest, BWL_STREAM_AWAIT_MS);
}

/* A thread that has submitted a request, and has nothing else to do before the reply, blocks in a
 * read of the socket.  That saves the poll, one of three system calls for a request.  The thread
 * cannot be woken up there, so it blocks only briefly. */
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
    session->owner->on_change(session);
    return true;
}

/* ---- goodbye --------------------------------------------------------------------------------- */

/* A handshake has nothing else to say than that: it may have published client info, which must be
 * deleted. */
static bool is_silent(bwl_session *session)
{
    const bwl_stream *stream  = &session->link.conn.stream;
    uint64_t          written = stream->written;
    bool              is_open = session->phase == BWL_SESSION_READY;

    if (bwl_session_uses_push(session) && (is_open || session->phase == BWL_SESSION_HANDSHAKE))
        session->owner->write_goodbye(session);
    return !is_open && stream->written == written;
}

/* How long a reply has been missing; 0: none is. */
static bwl_ms silent_for(const bwl_session *session)
{
    bwl_ms             now  = bwl_host_now(session->host);
    const bwl_request *head = bwl_pipeline_head(&session->pipeline);

    if (session->phase == BWL_SESSION_HANDSHAKE)
        return now - session->phase_began_at;
    return head != NULL ? now - bwl_request_due_from(head) : 0;
}

/* A server that carries out WAIT drops what follows it when the client closes its side, so it must
 * close first: after QUIT, whose reply must not be off. */
static bool write_quit(bwl_session *session)
{
    return bwl_resp_stream_write(&session->link.conn, QUIT_ROOM, "CLIENT REPLY ON") &&
           bwl_resp_stream_write(&session->link.conn, QUIT_ROOM, "QUIT");
}

void bwl_session_say_goodbye(bwl_session *session, bwl_ms patience_ms)
{
    if (is_silent(session)) {
        bwl_stream_close(&session->link.conn.stream);
        return;
    }
    if (session->barrier.out > 0 && !write_quit(session))
        session->barrier.out = 0; /* out of memory: what is written may be dropped */
    session->has_replies =
        session->has_replies || session->phase != BWL_SESSION_READY || session->pipeline.count > 0;
    if (silent_for(session) >= patience_ms)
        session->has_replies = false; /* the kernel has the bytes: it needs no process for them */
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
        session->said_goodbye = true;
        if (session->has_replies && session->barrier.out > 0)
            return bwl_stream_drain(stream);
        bwl_stream_goodbye(stream);
        if (!session->has_replies || !bwl_stream_shut(stream))
            return true;
    }
    return bwl_stream_drain(stream);
}
