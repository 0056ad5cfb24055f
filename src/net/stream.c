#include "net/stream.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

enum { READ_ROOM = 4096, ENCRYPTED_MAX = 16 * 1024 };

void bwl_stream_init(bwl_stream *conn, bwl_reactor                             *reactor,
                     void (*ready)(bwl_source *source, uint32_t events), size_t in_max)
{
    *conn = (bwl_stream){ .source     = { .fd = -1, .ready = ready },
                          .reactor    = reactor,
                          .awaited_fd = -1,
                          .in_max     = in_max };
}

void bwl_stream_secure(bwl_stream *conn, const bwl_tls_context *context, const char *host)
{
    assert(!bwl_stream_is_open(conn));
    conn->context = context;
    conn->host    = host;
}

/* Text from errno. */
static int broken(bwl_fault *fault, const char *what)
{
    int status = bwl_fail_errno(fault, "%s", what);

    if (fault != NULL && status == BWL_STATUS_SYSTEM)
        fault->status = BWL_STATUS_UNREACHABLE;
    return status == BWL_STATUS_SYSTEM ? BWL_STATUS_UNREACHABLE : status;
}

static void set(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* Socket options improve the timing only, so errors are ignored. */
static void tune(const bwl_stream *conn, int family)
{
    int fd        = conn->source.fd;
    int silence_s = (int)((conn->silence_ms + 999) / 1000);

    if (family == AF_UNIX)
        return;
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    if (conn->silence_ms == 0)
        return;
    /* Keepalive detects a peer that disappeared while the connection is idle: the first probe after
     * one silence_ms, and three probes over another.  (With the user timeout set, Linux limits
     * probes by time: the connection ends when the first unanswered one is older than that;
     * tcp(7).) */
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)conn->silence_ms);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, silence_s);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, (silence_s + 2) / 3);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

int bwl_stream_open(bwl_stream *conn, const bwl_address *address, bwl_fault *fault)
{
    int family = address->socket.ss_family;

    assert(!bwl_stream_is_open(conn));
    assert(conn->tls == NULL);
    conn->source.fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->source.fd < 0)
        return bwl_fail_errno(fault, "cannot make a socket");
    tune(conn, family);
    conn->connecting  = true;
    conn->joined      = false;
    conn->heard       = false;
    conn->blocks      = false;
    conn->wants_out   = true;
    conn->in_size     = 0;
    conn->in_taken    = 0;
    conn->out_size    = 0;
    conn->out_sent    = 0;
    conn->written     = 0;
    conn->handed_over = 0;

    const struct sockaddr *to = (const struct sockaddr *)&address->socket;
    if (connect(conn->source.fd, to, address->size) != 0 && errno != EINPROGRESS) {
        int status = broken(fault, "cannot connect");
        bwl_stream_close(conn);
        return status;
    }
    int status = bwl_reactor_watch(conn->reactor, &conn->source, EPOLLIN | EPOLLOUT, fault);
    if (status == BWL_OK && conn->context != NULL)
        status = bwl_tls_start(&conn->tls, conn->context, conn->host, fault);
    if (status < 0)
        bwl_stream_close(conn);
    return status;
}

void bwl_stream_close(bwl_stream *conn)
{
    if (!bwl_stream_is_open(conn))
        return;
    /* Closing alone does not remove it from the reactor if a forked child has a copy. */
    bwl_reactor_forget(conn->reactor, &conn->source);
    if (conn->source.fd == conn->awaited_fd)
        (void)shutdown(conn->source.fd, SHUT_RDWR); /* bwl_stream_await_end closes it */
    else
        (void)close(conn->source.fd);
    conn->source.fd = -1;
    bwl_tls_free(conn->tls);
    conn->tls      = NULL;
    conn->in_size  = 0; /* discards what was received */
    conn->in_taken = 0;
}

void bwl_stream_free(bwl_stream *conn)
{
    /* No thread waits any more.  In a forked child the reactor is shared with the parent, which
     * must keep its own copy watched. */
    if (bwl_stream_is_open(conn))
        (void)close(conn->source.fd);
    if (conn->awaited_fd >= 0 && conn->awaited_fd != conn->source.fd)
        (void)close(conn->awaited_fd); /* its thread does not exist in this forked child */
    conn->source.fd  = -1;
    conn->awaited_fd = -1;
    bwl_tls_free(conn->tls);
    conn->tls = NULL;
    if (conn->out != NULL)
        explicit_bzero(conn->out, conn->out_room);
    free(conn->in);
    free(conn->out);
    conn->in  = NULL;
    conn->out = NULL;
}

bool bwl_stream_has_unread(const bwl_stream *conn)
{
    char byte;

    if (conn->in_size > conn->in_taken)
        return true;
    ssize_t got = recv(conn->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* ---- out ------------------------------------------------------------------------------------- */

char *bwl_stream_reserve(bwl_stream *conn, size_t size)
{
    size_t need = conn->out_size + size;

    if (need > BWL_STREAM_OUT_MAX)
        return NULL;
    if (need > conn->out_room) {
        size_t room = need * 2 < READ_ROOM ? READ_ROOM : need * 2;
        char  *out  = malloc(room); /* not realloc, which could leave a copy of a password */
        if (out == NULL)
            return NULL;
        if (conn->out != NULL) {
            memcpy(out, conn->out, conn->out_size);
            explicit_bzero(conn->out, conn->out_room);
            free(conn->out);
        }
        conn->out      = out;
        conn->out_room = room;
    }
    return conn->out + conn->out_size;
}

void bwl_stream_commit(bwl_stream *conn, size_t size)
{
    assert(conn->out_size + size <= conn->out_room);
    conn->out_size += size;
    conn->written += size;
}

static void watch_out(bwl_stream *conn, bool wants_out)
{
    if (wants_out == conn->wants_out)
        return;
    conn->wants_out = wants_out;
    bwl_reactor_rewatch(conn->reactor, &conn->source, wants_out ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Sends a part; 0: the socket is full. */
static ssize_t send_some(bwl_stream *conn, const char *bytes, size_t size, bwl_fault *fault)
{
    ssize_t sent;

    do
        sent = send(conn->source.fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : broken(fault, "the connection broke");
}

/* Sends what the kernel takes, and updates out_sent. */
static int send_clear(bwl_stream *conn, bwl_fault *fault)
{
    while (conn->out_sent < conn->out_size) {
        ssize_t sent =
            send_some(conn, conn->out + conn->out_sent, conn->out_size - conn->out_sent, fault);
        if (sent < 0)
            return (int)sent;
        if (sent == 0)
            break;
        conn->out_sent += (size_t)sent;
        conn->handed_over += (uint64_t)sent;
    }
    watch_out(conn, conn->out_sent < conn->out_size);
    return BWL_OK;
}

/* ---- in -------------------------------------------------------------------------------------- */

/* To read into. */
static bool make_room(bwl_stream *conn)
{
    if (conn->in_taken > 0) {
        memmove(conn->in, conn->in + conn->in_taken, conn->in_size - conn->in_taken);
        conn->in_size -= conn->in_taken;
        conn->in_taken = 0;
    }
    if (conn->in_room - conn->in_size >= READ_ROOM)
        return true;
    size_t room = conn->in_room == 0 ? 2 * READ_ROOM : conn->in_room * 2;
    if (room > conn->in_max)
        room = conn->in_max;
    if (room - conn->in_size < READ_ROOM)
        return false; /* the owner does not consume fast enough */
    char *in = realloc(conn->in, room);
    if (in == NULL)
        return false;
    conn->in      = in;
    conn->in_room = room;
    return true;
}

static int received(bwl_stream *conn, ssize_t got, bwl_fault *fault)
{
    if (got > 0) {
        conn->in_size += (size_t)got;
        conn->heard = true;
        return BWL_OK;
    }
    if (got == 0)
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "the server closed the connection");
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return BWL_OK;
    return broken(fault, "the connection broke");
}

static ssize_t receive_some(bwl_stream *conn, char *ret_bytes, size_t room)
{
    ssize_t got;

    do
        got = recv(conn->source.fd, ret_bytes, room, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads once: the rest stays in the socket until frames were consumed. */
static int receive(bwl_stream *conn, bwl_fault *fault)
{
    if (!make_room(conn))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "no memory for what the server sends");
    return received(
        conn, receive_some(conn, conn->in + conn->in_size, conn->in_room - conn->in_size), fault);
}

/* An alert record: its type, and the version that all have. */
bool bwl_stream_sounds_like_tls(const bwl_stream *conn)
{
    const char *at = conn->in + conn->in_taken;

    return conn->context == NULL && conn->in_size - conn->in_taken >= 2 && at[0] == 21 &&
           at[1] == 3;
}

/* ---- waiting in the socket ------------------------------------------------------------------- */

static bool make_blocking(bwl_stream *conn)
{
    const struct timeval patience = { .tv_usec = BWL_STREAM_AWAIT_MS * 1000 };
    int                  fd       = conn->source.fd;
    int                  flags    = fcntl(fd, F_GETFL);

    if (flags < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
        return false;
    conn->blocks = true;
    return true;
}

int bwl_stream_await_begin(bwl_stream *conn)
{
    assert(conn->awaited_fd < 0);
    if (!bwl_stream_is_open(conn) || conn->connecting || conn->tls != NULL ||
        conn->handed_over != conn->written)
        return -1;
    if (!conn->blocks && !make_blocking(conn))
        return -1;
    conn->awaited_fd = conn->source.fd;
    return conn->awaited_fd;
}

bool bwl_stream_await_end(bwl_stream *conn)
{
    bool is_closed = conn->awaited_fd != conn->source.fd;

    if (is_closed)
        (void)close(conn->awaited_fd);
    conn->awaited_fd = -1;
    return !is_closed;
}

int bwl_stream_take(bwl_stream *conn, const char *bytes, ssize_t got, bwl_fault *fault)
{
    if (got > 0 && !make_room(conn))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "no memory for what the server sends");
    if (got > 0)
        memcpy(conn->in + conn->in_size, bytes, (size_t)got);
    return received(conn, got, fault);
}

const char *bwl_stream_unread(const bwl_stream *conn, size_t *ret_size)
{
    *ret_size = conn->in_size - conn->in_taken;
    return *ret_size > 0 ? conn->in + conn->in_taken : NULL;
}

void bwl_stream_consume(bwl_stream *conn, size_t size)
{
    assert(size <= conn->in_size - conn->in_taken);
    conn->in_taken += size;
}

/* ---- through a TLS session ---------------------------------------------------------------------
 *      out (clear) --> session --> socket              in (clear) <-- session <-- socket
 *
 * `out` has the bytes that were not completely sent, and handed_over counts clear bytes, as without
 * TLS; a byte counts as handed over when the socket took the first byte of its record.
 */

/* Sends the session's output.  1: all of it; 0: the socket is full; below 0: the socket is
 * broken. */
static int send_encrypted(bwl_stream *conn, bwl_fault *fault)
{
    const char *bytes;
    size_t      size;

    while ((size = bwl_tls_out(conn->tls, &bytes)) > 0) {
        ssize_t sent = send_some(conn, bytes, size, fault);
        if (sent <= 0)
            return (int)sent;
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

/* Receives once from the socket.  OK also if there is nothing. */
static int take_encrypted(bwl_stream *conn, bwl_fault *fault)
{
    char   bytes[ENCRYPTED_MAX];
    size_t room = bwl_tls_room(conn->tls);

    if (room == 0)
        return BWL_OK;
    ssize_t got = receive_some(conn, bytes, room < sizeof bytes ? room : sizeof bytes);
    if (got > 0) {
        conn->heard = true;
        return bwl_tls_feed(conn->tls, bytes, (size_t)got, fault);
    }
    if (got == 0)
        bwl_tls_feed_end(conn->tls);
    else if (errno != EAGAIN && errno != EWOULDBLOCK)
        return broken(fault, "the connection broke");
    return BWL_OK;
}

/* Reads all clear bytes: no event announces the rest. */
static int read_clear(bwl_stream *conn, bwl_fault *fault)
{
    for (;;) {
        if (!make_room(conn))
            return bwl_fail(fault, BWL_STATUS_NOMEM, "no memory for what the server sends");
        ssize_t got =
            bwl_tls_read(conn->tls, conn->in + conn->in_size, conn->in_room - conn->in_size, fault);
        if (got <= 0)
            return (int)got;
        conn->in_size += (size_t)got;
    }
}

static int receive_encrypted(bwl_stream *conn, bwl_fault *fault)
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

/* The socket is broken.  If there is an unread alert of the peer, it has the better reason. */
static int broken_by_peer(bwl_stream *conn, int status, bwl_fault *fault)
{
    bwl_fault alert = { 0 };

    if (receive_encrypted(conn, &alert) != BWL_STATUS_REFUSED)
        return status;
    if (fault != NULL)
        *fault = alert;
    return BWL_STATUS_REFUSED;
}

static int flush_encrypted(bwl_stream *conn, bwl_fault *fault)
{
    for (;;) {
        int sent = send_encrypted(conn, fault);
        if (sent < 0)
            return broken_by_peer(conn, sent, fault);
        if (sent == 0) {
            watch_out(conn, true);
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
    watch_out(conn, false);
    return BWL_OK;
}

/* ---- either way ------------------------------------------------------------------------------ */

int bwl_stream_flush(bwl_stream *conn, bwl_fault *fault)
{
    int status;

    if (!bwl_stream_is_open(conn))
        return BWL_OK;
    if (conn->tls != NULL && conn->joined)
        status = flush_encrypted(conn, fault);
    else if (!conn->connecting)
        status = send_clear(conn, fault);
    else
        return BWL_OK;
    if (status == BWL_OK && conn->handed_over == conn->written) {
        if (conn->out_size > 0)
            explicit_bzero(conn->out, conn->out_size); /* it may have contained a password */
        conn->out_size = 0;
        conn->out_sent = 0;
    }
    return status;
}

void bwl_stream_goodbye(bwl_stream *conn)
{
    const char *bytes;

    /* A pending record would be sent with the goodbye: it does not count as handed over, so it must
     * not be sent now. */
    if (conn->tls == NULL || conn->connecting || conn->out_size > 0 ||
        bwl_tls_out(conn->tls, &bytes) > 0)
        return;
    bwl_tls_goodbye(conn->tls);
    (void)send_encrypted(conn, NULL);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int end_connecting(bwl_stream *conn, bwl_fault *fault)
{
    int       error = 0;
    socklen_t size  = sizeof error;

    if (getsockopt(conn->source.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return broken(fault, "cannot connect");
    if (error != 0) {
        errno = error;
        return broken(fault, "cannot connect");
    }
    struct sockaddr_storage peer;
    size = sizeof peer;
    if (getpeername(conn->source.fd, (struct sockaddr *)&peer, &size) != 0)
        return BWL_OK; /* not yet: the event was for the previous connection */
    conn->joined     = true;
    conn->connecting = conn->tls != NULL;
    return BWL_OK;
}

int bwl_stream_step(bwl_stream *conn, uint32_t events, bwl_fault *fault)
{
    bool may_receive = (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0;
    int  status      = BWL_OK;

    if (!conn->joined && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0)
        status = end_connecting(conn, fault);
    if (status == BWL_OK && conn->tls != NULL && conn->joined) {
        if (may_receive || conn->connecting)
            status = receive_encrypted(conn, fault);
        /* Always: a step of the handshake, or a reply to the peer's, may have produced output. */
        return status < 0 ? status : bwl_stream_flush(conn, fault);
    }
    if (status == BWL_OK && (events & EPOLLOUT) != 0)
        status = bwl_stream_flush(conn, fault);
    if (status == BWL_OK && may_receive)
        status = receive(conn, fault);
    return status;
}
