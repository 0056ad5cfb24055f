/*
 * stream.h -- bytes to and from one address, and the exact number of bytes handed to the kernel.
 *
 * Encrypted after bwl_stream_secure; the caller writes and reads clear text.
 *
 * A stream never blocks, never raises SIGPIPE, and is not inherited by children of exec.  It has no
 * framing.  After a fault it stays broken: close it and open it again.
 */
#pragma once

#include "net/reactor.h"
#include "net/tls/tls.h"

#include <sys/socket.h>

typedef struct bwl_address {
    struct sockaddr_storage socket;
    socklen_t               size;
} bwl_address;

enum {
    BWL_STREAM_OUT_MAX = 1024 * 1024, /* bytes to be sent; more is refused */
};

typedef struct bwl_stream {
    bwl_source             source; /* source.fd is -1: closed */
    bwl_reactor           *reactor;
    bool                   connecting; /* with TLS: until the end of its handshake            */
    bool                   joined;     /* the socket is connected                             */
    bool                   heard;      /* bytes were received, encrypted or not               */
    bool                   wants_out;  /* the reactor watches for room to write               */
    bool                   blocks;     /* a thread may block in recv; other calls never block */
    int                    awaited_fd; /* a thread blocks on it now; -1: none                 */
    char                  *in;
    size_t                 in_size;
    size_t                 in_room;
    size_t                 in_max;   /* more is not read until some is consumed */
    size_t                 in_taken; /* bytes before this were consumed         */
    char                  *out;
    size_t                 out_size;
    size_t                 out_room;
    size_t                 out_sent;
    uint64_t               written;     /* bytes committed since it was opened             */
    uint64_t               handed_over; /* of these, bytes that the kernel has taken       */
    bwl_tls               *tls;         /* of this connection; NULL: clear text, or closed */
    const bwl_tls_context *context;     /* NULL: clear text                                */
    const char            *host;        /* the host that the certificate must name         */
    bwl_ms                 silence_ms;  /* without an acknowledgement: broken; 0: kernel's */
} bwl_stream;

/* `ready` is called by the reactor, and must call bwl_stream_step.  The stream keeps at most
 * `in_max` received bytes that were not consumed. */
void bwl_stream_init(bwl_stream *conn, bwl_reactor                             *reactor,
                     void (*ready)(bwl_source *source, uint32_t events), size_t in_max);

/* Encrypts all later connections; the certificate must name `host`.  Both are borrowed. */
void bwl_stream_secure(bwl_stream *conn, const bwl_tls_context *context, const char *host);

/* Starts to connect.  SYSTEM, UNREACHABLE (refused at once), NOMEM; the stream is closed then. */
int bwl_stream_open(bwl_stream *conn, const bwl_address *address, bwl_fault *fault);

void bwl_stream_close(bwl_stream *conn); /* also if it is closed */
void bwl_stream_free(bwl_stream *conn);

static inline bool bwl_stream_is_open(const bwl_stream *conn)
{
    return conn->source.fd >= 0;
}

/* Sends the close alert of TLS, if the stream is encrypted and everything was handed over. */
void bwl_stream_goodbye(bwl_stream *conn);

/* ---- the orderly end: goodbye, shut, drain until it returns true, close -------------------- */

/* Nothing more is sent.  False: the connection is broken. */
bool bwl_stream_shut(bwl_stream *conn);

/* Discards received bytes without waiting.  True: the peer has closed.  A socket that is closed
 * with unread bytes is reset, and the peer may lose bytes that it has not read yet. */
bool bwl_stream_drain(bwl_stream *conn);

enum { BWL_STREAM_WAIT_MAX = 64 };

/* Waits for at most wait_ms until one of `count` open streams, at most BWL_STREAM_WAIT_MAX, can
 * send its pending bytes, or else has received something.  May return earlier. */
void bwl_stream_wait(bwl_stream *const *streams, unsigned count, bwl_ms wait_ms);

/* Handles the reactor's events.  OK, or below 0: it is broken; REFUSED: a new connection would fail
 * the same way (TLS).  Ends the connecting when that has succeeded. */
int bwl_stream_step(bwl_stream *conn, uint32_t events, bwl_fault *fault);

/* Whether there are unconsumed bytes, or the end of the stream. */
bool bwl_stream_has_unread(const bwl_stream *conn);

/* Reserves `size` bytes at the end of the output, valid until the next call on this stream; NULL:
 * the output is full, or no memory. */
char *bwl_stream_reserve(bwl_stream *conn, size_t size);

/* Commits the first `size` bytes of the reservation. */
void bwl_stream_commit(bwl_stream *conn, size_t size);

/* Sends what the kernel takes.  OK, or below 0: it is broken. */
int bwl_stream_flush(bwl_stream *conn, bwl_fault *fault);

/* Blocks on the socket itself, without the reactor, which saves a system call for each reply.
 * Between begin and end, which one thread at a time may call, other threads may use the connection,
 * and close it: then it is shut down, which ends the wait, and end closes it. */

enum {
    BWL_STREAM_AWAIT_MS   = 10, /* the wait cannot be ended earlier except by closing */
    BWL_STREAM_AWAIT_ROOM = 4096,
};

/* Returns the descriptor to receive from, without the mutex (net/spin.h); EAGAIN: nothing has come.
 * -1: use the reactor, because there is more to wait for, or TLS. */
int bwl_stream_await_begin(bwl_stream *conn);

/* False: it was closed meanwhile; discard what was received. */
bool bwl_stream_await_end(bwl_stream *conn);

/* Stores received bytes, or handles the errno of the recv.  Returns as bwl_stream_step. */
int bwl_stream_take(bwl_stream *conn, const char *bytes, ssize_t got, bwl_fault *fault);

/* The unconsumed bytes, valid until the next call of bwl_stream_step or bwl_stream_take. */
const char *bwl_stream_unread(const bwl_stream *conn, size_t *ret_size);
void        bwl_stream_consume(bwl_stream *conn, size_t size);

/* Whether the unread bytes are a TLS alert, which TLS servers send in reply to clear text. */
bool bwl_stream_sounds_like_tls(const bwl_stream *conn);
