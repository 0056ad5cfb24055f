/*
 * session.c -- requests out, replies in, and the end of a connection.  See session.h.
 *
 * A server replies in order: a reply belongs to the oldest request in flight.  When the connection
 * breaks, a request none of whose bytes were handed to the kernel was certainly not executed
 * (NOT_SENT); every other one may have been (DOWN).
 *
 * The clock is read when a call or an event enters the session; everything that follows uses
 * host->latest.
 */
#include "base/fault.h"
#include "engine/redis/session/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    LAST_ROOM   = 64,   /* for CLIENT REPLY OFF                                         */
    IDLE_MS     = 2,    /* idle time before a send first checks for a closed connection */
    PACKET      = 8192, /* less than a server reads at once                             */
    HAS_TIME_MS = 100,  /* of the lease: then 1 ms of delay is harmless                 */
};

/* ---- new and free ---------------------------------------------------------------------------- */

static void on_ready(bwl_source *source, uint32_t events);

bwl_session *bwl_session_new(bwl_host *host, bwl_redis_config *config,
                             const bwl_session_owner *owner, void *owner_data)
{
    bwl_session *session = calloc(1, sizeof *session);

    if (session == NULL)
        return NULL;
    session->host       = host;
    session->config     = bwl_redis_config_ref(config);
    session->owner      = owner;
    session->owner_data = owner_data;
    session->phase      = BWL_SESSION_DOWN;
    bwl_resp_stream_init(&session->link.conn, &host->reactor, on_ready);
    bwl_dialer_init(&session->link.dialer, &session->link.conn.stream);
    session->link.conn.stream.silence_ms = host->settings.answer_ms;
    session->link.spin.is_off            = !host->settings.spins;
    return session;
}

void bwl_session_free(bwl_session *session)
{
    if (session == NULL)
        return;
    bwl_stream_free(&session->link.conn.stream);
    bwl_dialer_forget(&session->link.dialer);
    free(session->endpoint.host);
    bwl_pipeline_free(&session->pipeline);
    bwl_pipeline_free(&session->watch.deferred);
    bwl_pipeline_free(&session->barrier.deferred);
    bwl_redis_config_unref(session->config);
    free(session);
}

/* Forgets the server.  The next one is another process, which granted none of our holds. */
static void forget_server(bwl_session *session)
{
    uint64_t restarts = session->server.restarts;

    session->server                = (bwl_server_info){ .restarts = restarts + 1 };
    session->push.without_shards   = false;
    session->push.info_sent_at     = 0;
    session->attempt.failures      = 0;
    session->attempt.backoff_until = 0;
    bwl_dialer_forget(&session->link.dialer);
}

int bwl_session_set_endpoint(bwl_session *session, const char *host, uint16_t port)
{
    char *copied = strdup(host);

    assert(session->phase == BWL_SESSION_DOWN);
    if (copied == NULL)
        return BWL_STATUS_NOMEM;
    free(session->endpoint.host);
    session->endpoint.host = copied;
    session->endpoint.port = port;
    forget_server(session);
    (void)snprintf(session->endpoint.text, sizeof session->endpoint.text, "%.100s:%u", host,
                   (unsigned)port);
    if (session->config->tls != NULL)
        bwl_stream_secure(&session->link.conn.stream, session->config->tls, session->endpoint.host);
    return BWL_OK;
}

/* ---- replies --------------------------------------------------------------------------------- */

static void break_with(bwl_session *session, bwl_status status, const char *what)
{
    bwl_fault fault;

    (void)bwl_fail(&fault, status, "%s %s", session->endpoint.text, what);
    bwl_session_break(session, &fault, false);
}

static void break_as_strange(bwl_session *session)
{
    break_with(session, BWL_STATUS_REFUSED, "sent an unexpected reply");
}

static bool is_demoted(const bwl_session *session, const char *bytes, size_t size)
{
    return bytes != NULL && session->owner->is_demoted != NULL &&
           session->owner->is_demoted(session, bytes, size);
}

static void break_if_demoted(bwl_session *session, bool demoted)
{
    if (demoted && bwl_stream_is_open(&session->link.conn.stream))
        break_with(session, BWL_STATUS_UNREACHABLE, "is not the primary any more");
}

/* Whether the release that undoes it is in the pipeline already: the other servers decided against
 * it. */
static bool is_undone(const bwl_session *session, const bwl_request *request)
{
    for (size_t i = 0; i < session->pipeline.count; i++) {
        const bwl_request *later = bwl_pipeline_at(&session->pipeline, i);
        if (later->lock == request->lock && later->command == REDIS_DELETE_IF_MINE)
            return true;
    }
    return false;
}

/* A delete of our own value is always harmless, and a lock on several servers still needs it when
 * its machine has moved on. */
static bool is_wanted_again(const bwl_session *session, const bwl_request *request)
{
    if (!session->owner->traits.sends_to_several)
        return bwl_request_is_wanted(request);
    return request->command == REDIS_DELETE_IF_MINE ||
           (bwl_request_is_wanted(request) && !is_undone(session, request));
}

static void send_again(bwl_session *session, bwl_request request)
{
    bool wanted = is_wanted_again(session, &request);

    request.flight.written    = false;
    request.flight.background = false;
    request.batch             = (bwl_request_batch){ .size = 0 };
    if (!wanted || !bwl_pipeline_push(&session->pipeline, &request))
        bwl_request_answer(session, &request, BWL_NOT_SENT);
    else
        bwl_host_unpin(request.lock); /* appending pinned it a second time */
}

/* Each request gets its part before the next frame is read.  A completion may submit, or break the
 * connection, so the state of each request is kept in the pipeline. */
static void complete_batch(bwl_session *session)
{
    while (session->pipeline.count > 0) {
        const bwl_request *first = bwl_pipeline_at(&session->pipeline, 0);
        if (first->batch.known == 0 && !first->batch.again)
            return;
        bwl_request request = bwl_pipeline_pop(&session->pipeline);
        if (request.batch.again)
            send_again(session, request);
        else
            bwl_request_answer_known(session, &request);
        bwl_barrier_over(session, &request);
    }
}

static void on_batch_reply(bwl_session *session, const char *bytes, size_t size)
{
    const bwl_pipeline *pipeline = &session->pipeline;
    bwl_redis_verdict   verdict  = bwl_batch_on_reply(session, bytes, size);

    if (verdict == BWL_REDIS_STRANGE) {
        break_as_strange(session);
        return;
    }
    session->link.has_answered = true;
    session->attempt.failures  = 0;
    for (size_t i = 0; i < bwl_pipeline_at(pipeline, 0)->batch.size; i++) {
        const bwl_request *request = bwl_pipeline_at(pipeline, i);
        bwl_session_set_error(session, request, request->batch.known, bytes, size);
    }
    bool demoted = is_demoted(session, bytes, size);
    complete_batch(session);
    break_if_demoted(session, demoted);
}

static unsigned frames_of(const bwl_request *request)
{
    return request->kind->frames != NULL ? request->kind->frames(request) : 1;
}

/* A frame that is not the last: an error is the answer, but the other frames must still be read. */
static void on_partial_reply(bwl_request *request, bwl_answer answer)
{
    request->flight.frames++;
    if (request->flight.failed == 0 && answer != BWL_YES)
        request->flight.failed = answer;
}

/* The last frame of the oldest request. */
static void on_whole_reply(bwl_session *session, bwl_redis_verdict verdict,
                           bwl_request_reply *reply, bool demoted)
{
    bwl_request request = bwl_pipeline_pop(&session->pipeline);
    bwl_event  *ev      = &reply->event;

    session->link.has_answered = true;
    session->attempt.failures  = 0;
    if (request.flight.failed != 0)
        ev->answer = request.flight.failed;
    if (verdict == BWL_REDIS_NOSCRIPT && !request.use_eval) {
        request.use_eval    = request.command == 0; /* else see sends_text */
        request.was_unknown = true;
        send_again(session, request); /* it was not executed */
        return;
    }
    if (verdict == BWL_REDIS_NOSCRIPT)
        ev->answer = BWL_REFUSED; /* the script's text was sent */
    bwl_batch_learn(&request, ev->answer);
    bwl_watch_answered(session, &request, ev->answer);
    bwl_request_complete(session, &request, ev);
    bwl_barrier_over(session, &request);
    break_if_demoted(session, demoted);
}

/* A frame of the oldest request; bytes are NULL for a value that was too long. */
static void on_reply(bwl_session *session, const char *bytes, size_t size)
{
    bwl_request      *first = bwl_pipeline_at(&session->pipeline, 0);
    bwl_request_reply reply = { .event = { .kind = BWL_REPLY } };

    if (first->flight.replies_to_skip > 0) {
        first->flight.replies_to_skip--;
        return;
    }
    if (first->flight.prepares) {
        session->owner->slots->on_prepared(session, bytes, size);
        return;
    }
    if (session->owner->on_reply != NULL && session->owner->on_reply(session, bytes, size))
        return;
    if (first->batch.size > 0) {
        on_batch_reply(session, bytes, size);
        return;
    }
    bwl_redis_verdict verdict = BWL_REDIS_ANSWER;
    if (first->kind->read != NULL)
        verdict = first->kind->read(session, first, bytes, size, &reply);
    else
        reply.event.answer = BWL_YES;
    if (verdict == BWL_REDIS_STRANGE) {
        break_as_strange(session);
        return;
    }
    bwl_session_set_error(session, first, reply.event.answer,
                          first->flight.failed == 0 ? bytes : NULL, size);
    if (first->flight.frames + 1u < frames_of(first)) {
        on_partial_reply(first, reply.event.answer);
        return;
    }
    on_whole_reply(session, verdict, &reply, is_demoted(session, bytes, size));
}

/* ---- writing --------------------------------------------------------------------------------- */

/* While closing, replies are not read.  A server that replies to a closed socket stops there, and
 * does not execute what it has not read yet. */
static bool write_reply_off(bwl_session *session)
{
    if (session->reply_is_off)
        return true;
    session->has_replies = bwl_pipeline_head(&session->pipeline) != NULL;
    session->reply_is_off =
        bwl_resp_stream_write(&session->link.conn, LAST_ROOM, "CLIENT REPLY OFF");
    return session->reply_is_off;
}

/* Whether it extends a hold that has time left, and no caller waits for it: a provisional grant
 * that the caller was given already. */
static bool has_time(const bwl_request *request, bwl_ms now)
{
    return request->kind->is_machines &&
           bwl_queue_exclusive(request->command) == REDIS_QUEUE_EXTEND &&
           !bwl_host_is_awaited(request->lock) &&
           bwl_hold_left(&request->lock->hold, now) >= HAS_TIME_MS;
}

/* True if no unwritten request is urgent: they go out with the next submitted request, or a
 * millisecond later. */
static bool holds_back(bwl_session *session)
{
    bwl_host           *host     = session->host;
    const bwl_pipeline *pipeline = &session->pipeline;
    size_t              first    = bwl_pipeline_unwritten(pipeline);

    for (size_t i = first; i < pipeline->count; i++)
        if (!has_time(bwl_pipeline_at(pipeline, i), host->latest))
            return false;
    if (first == pipeline->count || !bwl_host_may_hold_back(host))
        return false;
    if (host->coalescing.since == 0)
        host->coalescing.since = host->latest;
    return true;
}

/* Writes one request, after its preparation.  A client that closes takes no lock: the release may
 * have been sent over another connection. */
static bool write_request(bwl_session *session, bwl_request *request)
{
    if (session->host->closing && bwl_redis_command_takes(request->command)) {
        request->flight.written = true;
        return true;
    }
    bwl_session_prepared prepared = session->owner->slots != NULL
                                        ? session->owner->slots->prepare(session, request)
                                        : BWL_PREPARED_NOTHING;

    if (prepared != BWL_PREPARED_NOTHING)
        return prepared == BWL_PREPARED_WAIT;
    request->flight.replies_to_skip = 0;
    if (!request->kind->write(session, request))
        return false;
    request->flight.sent_at = session->host->latest;
    request->flight.written = true;
    return true;
}

/* Whether the last written request is only prepared, so that those after it must wait.  While the
 * client closes, replies are not awaited: a release may be written at once. */
static bool waits_for_preparation(bwl_session *session, size_t first)
{
    bwl_request *last = first > 0 ? bwl_pipeline_at(&session->pipeline, first - 1) : NULL;

    if (last == NULL || !last->flight.prepares)
        return false;
    if (!session->host->closing)
        return true;
    if (session->owner->slots != NULL && session->owner->slots->skips_preparation(session, last)) {
        last->flight.prepares = false;
        last->flight.written  = false;
    }
    return false;
}

static int send_out(bwl_session *session, bwl_fault *fault)
{
    bwl_stream *stream = &session->link.conn.stream;
    bwl_sent    before = bwl_sent_so_far(stream);
    int         status = bwl_stream_flush(stream, fault);

    bwl_pipeline_sent(&session->pipeline, stream, &before, session->host->latest);
    return status;
}

static int no_room(const bwl_session *session, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_NOMEM, "too much is waiting to be sent to %s",
                    session->endpoint.text);
}

static int write_requests(bwl_session *session, bwl_fault *fault)
{
    bwl_host     *host     = session->host;
    bwl_pipeline *pipeline = &session->pipeline;

    if (host->coalescing.is_on && ++session->held_back < BWL_BATCH_MAX)
        return BWL_OK; /* more will follow, in the same packet */
    if (host->closing && pipeline->count > 0 && !write_reply_off(session))
        return no_room(session, fault);
    size_t first = bwl_pipeline_unwritten(pipeline);
    bool   waits = waits_for_preparation(session, first);
    first        = bwl_pipeline_unwritten(pipeline);
    for (size_t size, i = first; !waits && i < pipeline->count; i += size) {
        size       = bwl_batch_size(session, i);
        bool wrote = size > 1 ? bwl_batch_send(session, i, size)
                              : write_request(session, bwl_pipeline_at(pipeline, i));
        if (!wrote)
            return no_room(session, fault);
        if (bwl_pipeline_at(pipeline, i)->flight.prepares)
            break; /* the request is written after the replies */
    }
    session->held_back = 0;
    if ((host->closing || host->coalescing.is_on) && session->link.conn.stream.out_size < PACKET)
        return BWL_OK; /* sent when the client closes, or after all due timers have run */
    if (!host->closing && host->coalescing.expected > 0)
        return BWL_OK; /* other threads will add more to the same packet */
    return send_out(session, fault);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Whether the next frame may be a value of any length. */
static bool awaits_value(const bwl_session *session)
{
    const bwl_request *head =
        session->phase == BWL_SESSION_READY ? bwl_pipeline_head(&session->pipeline) : NULL;

    return head != NULL && head->kind->is_value != NULL && head->kind->is_value(head);
}

static void on_broken(bwl_session *session, bwl_fault *fault)
{
    bool refused = bwl_handshake_add_hint(session, false, fault);

    if (session->phase == BWL_SESSION_HANDSHAKE && session->handshake.step == BWL_HANDSHAKE_QUERY)
        session->owner->on_query(session, NULL, 0);
    bwl_session_name_place(session, fault);
    if (refused && session->config->tls == NULL && bwl_session_try_next(session, fault))
        return; /* another server may be found */
    bwl_session_break(session, fault, refused);
}

/* False: the handshake has failed, and the connection is closed. */
static bool on_handshake_reply(bwl_session *session, const char *bytes, size_t size)
{
    bwl_fault fault  = { 0 };
    int       status = bwl_handshake_on_reply(session, bytes, size, &fault);

    if (status < 0) {
        if (session->handshake.is_put_off && session->server.was_restarted)
            session->owner->on_restarted(session); /* it may load for a long time */
        bwl_session_break(session, &fault, status == BWL_STATUS_REFUSED);
        return false;
    }
    if (session->handshake.step == BWL_HANDSHAKE_DONE) {
        session->owner->on_ready(session);
        session->phase = BWL_SESSION_READY;
        bwl_host_connected(session->host, true);
        bwl_log_add(session->host->settings.log, BWL_LOG_INFO, "connected: %s",
                    session->endpoint.text);
    }
    return true;
}

/* Reads what has arrived, writes what is due.  Each step has at most one fault. */
static void work(bwl_session *session)
{
    const char *bytes;
    size_t      size;
    bwl_fault   fault  = { 0 };
    int         status = 1;

    while (bwl_stream_is_open(&session->link.conn.stream) && status > 0) {
        session->link.conn.frames.passes_long = awaits_value(session);
        status = bwl_resp_stream_frame(&session->link.conn, &bytes, &size, &fault);
        if (status <= 0)
            break;
        if (bytes != NULL && bytes[0] == '>')
            bwl_push_channel_on_push(session, bytes, size);
        else if (session->phase == BWL_SESSION_HANDSHAKE) {
            if (!on_handshake_reply(session, bytes, size))
                return;
        } else if (bwl_pipeline_head(&session->pipeline) != NULL)
            on_reply(session, bytes, size);
        else
            status = bwl_fail(&fault, BWL_STATUS_REFUSED, "sent data without a request");
    }
    if (status == 0 && session->phase == BWL_SESSION_READY && !holds_back(session))
        status = write_requests(session, &fault);
    if (status < 0)
        on_broken(session, &fault);
}

/* Reads what came before the end of the stream first: it may contain replies. */
void bwl_session_receive(bwl_session *session, int status, bwl_fault *fault)
{
    uint64_t opened = session->link.opened;

    work(session);
    if (status < 0 && session->link.opened == opened &&
        bwl_stream_is_open(&session->link.conn.stream))
        on_broken(session, fault);
}

static void on_ready(bwl_source *source, uint32_t events)
{
    bwl_session *session        = (bwl_session *)(void *)source;
    bwl_stream  *stream         = &session->link.conn.stream;
    bool         was_connecting = stream->connecting;
    bwl_sent     before         = bwl_sent_so_far(stream);
    bwl_fault    fault          = { 0 };

    if (!bwl_stream_is_open(stream))
        return; /* the connection was closed meanwhile */
    session->link.heard_at = session->host->latest;
    int status             = bwl_stream_step(stream, events, &fault);
    bwl_pipeline_sent(&session->pipeline, stream, &before, session->host->latest);
    if (was_connecting && status < 0) {
        bwl_session_next_address(session, &fault);
    } else {
        if (was_connecting && !stream->connecting)
            status = bwl_handshake_begin(session, &fault);
        bwl_session_receive(session, status, &fault);
    }
    session->owner->on_change(session);
}

/* ---- submitting ------------------------------------------------------------------------------ */

void bwl_session_check_for_end(bwl_session *session)
{
    if (session->phase == BWL_SESSION_READY && session->pipeline.count == 0 &&
        !session->host->closing &&
        session->host->latest >= bwl_ms_add(session->link.heard_at, IDLE_MS) &&
        bwl_stream_has_unread(&session->link.conn.stream))
        on_ready(&session->link.conn.stream.source, EPOLLIN);
}

bool bwl_session_open(bwl_session *session)
{
    if (session->phase == BWL_SESSION_DOWN &&
        bwl_host_now(session->host) >= session->attempt.backoff_until) {
        bwl_session_connect(session);
        session->owner->on_change(session);
    }
    return session->phase != BWL_SESSION_DOWN && session->phase != BWL_SESSION_BACKOFF;
}

bool bwl_session_submit(bwl_session *session, const bwl_request *request)
{
    bwl_fault   fault = { 0 };
    bwl_request begun;

    bwl_session_check_for_end(session);
    if (session->owner->slots != NULL && request->route.since == 0) {
        begun             = *request;
        begun.route.since = bwl_host_now(session->host);
        request           = &begun;
    }
    if (request->kind->admits != NULL && !request->kind->admits(session, request))
        return true;
    if (!bwl_watch_admits(session, request) || !bwl_barrier_admits(session, request))
        return true;
    if (!bwl_pipeline_push(&session->pipeline, request)) {
        bwl_watch_failed(session, request);
        bwl_barrier_over(session, request);
        return false;
    }
    bwl_watch_submitted(session, request);
    if (session->phase == BWL_SESSION_DOWN) {
        bwl_session_connect(session);
    } else if (session->phase == BWL_SESSION_READY && !holds_back(session) &&
               write_requests(session, &fault) < 0) {
        bwl_session_name_place(session, &fault);
        bwl_session_break(session, &fault, false);
    }
    session->owner->on_change(session);
    return true;
}

void bwl_session_flush(bwl_session *session)
{
    const bwl_pipeline *pipeline = &session->pipeline;
    bwl_fault           fault    = { 0 };

    if (session->phase != BWL_SESSION_READY ||
        (session->host->closing && session->owner->slots == NULL))
        return; /* the goodbye is written, except for a request that its slot delays */
    const bwl_request *last =
        pipeline->count > 0 ? bwl_pipeline_at(pipeline, pipeline->count - 1) : NULL;
    bool kept   = last != NULL && (!last->flight.written || last->flight.prepares);
    int  status = kept ? write_requests(session, &fault) : BWL_OK;
    if (status == BWL_OK && session->link.conn.stream.out_size > 0)
        status = send_out(session, &fault);
    if (status < 0) {
        bwl_session_name_place(session, &fault);
        bwl_session_break(session, &fault, false);
    }
    if (kept)
        session->owner->on_change(session);
}

/* A WAIT is not withdrawn: it is submitted only with a connection. */
bool bwl_session_may_withdraw(const bwl_request *request, const bwl_engine_lock *lock)
{
    return request->lock == lock && request->kind->is_machines &&
           request->tag == lock->latest_tag && !request->flight.written &&
           !bwl_request_is_barrier(request);
}

unsigned bwl_session_withdraw(bwl_session *session, const bwl_engine_lock *lock,
                              bwl_request *ret_requests, unsigned max)
{
    unsigned count = 0;

    for (size_t i = 0; i < session->pipeline.count && count < max;) {
        if (!bwl_session_may_withdraw(bwl_pipeline_at(&session->pipeline, i), lock)) {
            i++;
            continue;
        }
        ret_requests[count] = bwl_pipeline_remove(&session->pipeline, i);
        bwl_watch_failed(session, &ret_requests[count]);
        count++;
    }
    return count;
}

/* ---- the end of a connection ----------------------------------------------------------------- */

static void answer_all(bwl_session *session, bwl_pipeline *list, const bwl_fault *fault,
                       bwl_answer answer)
{
    while (list->count > 0) {
        bwl_request request = bwl_pipeline_pop(list);
        bwl_host_set_error(request.lock, "%s", fault->text);
        bwl_request_answer(session, &request, answer);
    }
    bwl_pipeline_free(list);
}

/* Marks the requests that the server may have executed.  True: at least one. */
static bool mark_uncertain(bwl_pipeline *pipeline, uint64_t handed_over)
{
    bool is_uncertain = false;

    for (size_t i = 0; i < pipeline->count; i++) {
        bwl_request        *request     = bwl_pipeline_at(pipeline, i);
        bwl_request_flight *flight      = &request->flight;
        bool                is_answered = request->batch.known != 0 || request->batch.again;
        flight->written =
            flight->written && !flight->prepares && !is_answered && flight->offset < handed_over;
        is_uncertain = is_uncertain || flight->written;
    }
    return is_uncertain;
}

static void complete_one(bwl_session *session, const bwl_request *request, const bwl_fault *fault,
                         bool refused, bwl_answer not_sent)
{
    bwl_answer known = request->batch.known;

    if (known == 0 && !request->flight.written && !refused && session->owner->on_not_sent != NULL &&
        session->owner->on_not_sent(session, request)) {
        bwl_host_unpin(request->lock); /* it was pinned again by the submit */
        return;
    }
    if (request->kind->reports_text && known == 0)
        bwl_host_set_fault(request->lock, fault);
    if (known != 0)
        bwl_request_answer_known(session, request);
    else if (request->flight.written)
        bwl_request_complete(session, request, &(bwl_event){ .kind = BWL_DOWN });
    else
        bwl_request_answer(session, request, not_sent);
}

/* A completion may submit, which may connect, which may fail at once and call this again: so the
 * pipeline and the deferred requests are taken out first. */
void bwl_session_break(bwl_session *session, const bwl_fault *fault, bool refused)
{
    if (!refused && bwl_session_try_next(session, fault))
        return;
    const bwl_session_owner *owner       = session->owner;
    bwl_fault                why         = *fault;
    uint64_t                 handed_over = session->link.conn.stream.handed_over;
    int64_t                  connection  = session->server.connection_id;
    bwl_pipeline             pipeline    = session->pipeline;
    bwl_pipeline             watches     = session->watch.deferred;
    bwl_pipeline             barriers    = session->barrier.deferred;
    bool       lost_pushes = session->phase == BWL_SESSION_READY && bwl_session_uses_push(session);
    bool       put_off  = session->phase == BWL_SESSION_HANDSHAKE && session->handshake.is_put_off;
    bwl_answer not_sent = refused ? BWL_REFUSED : put_off ? BWL_RETRYABLE : BWL_NOT_SENT;

    if (!session->host->closing)
        bwl_log_add(session->host->settings.log, BWL_LOG_WARNING, "%s: %s",
                    session->phase == BWL_SESSION_READY ? "connection lost" : "not connected",
                    why.text);
    bwl_stream_close(&session->link.conn.stream);
    session->pipeline = (bwl_pipeline){ .ring = NULL };
    session->watch    = (bwl_session_transaction){ .owner = NULL };
    session->barrier  = (bwl_session_transaction){ .owner = NULL };
    if (!session->link.has_answered)
        bwl_session_back_off(session);
    session->attempt.broke     = why;
    session->link.has_answered = false;
    session->phase             = BWL_SESSION_DOWN;
    if (mark_uncertain(&pipeline, handed_over) || lost_pushes)
        session->server.to_be_killed = connection; /* its pushes may still arrive, too */
    session->server.connection_id = 0;
    if (lost_pushes)
        owner->on_pushes_lost(session);
    while (pipeline.count > 0) {
        bwl_request request = bwl_pipeline_pop(&pipeline);
        complete_one(session, &request, &why, refused, not_sent);
    }
    bwl_pipeline_free(&pipeline);
    answer_all(session, &watches, &why, not_sent);
    answer_all(session, &barriers, &why, not_sent);
    /* Connects now, so that a hold lost by a restart is found before its next renewal. */
    if (session->phase == BWL_SESSION_DOWN && owner->is_needed(session))
        bwl_session_connect(session);
    owner->on_down(session);
    session->owner->on_change(session);
}
