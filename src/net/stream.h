/*
 * stream.h -- bytes to and from one address, and the exact number of bytes handed to the kernel.
 *
 * Encrypted after bwl_stream_secure: the bytes that the caller writes and reads stay clear text.
 *
 * A stream never blocks, never raises SIGPIPE, and is not inherited by children of exec.  It has no
 * framing.  After a fault it is broken for good: close it and open it again.
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
    BWL_STREAM_OUT_MAX = 1024 * 1024, /* bytes that wait to be sent; more is refused */
};

typedef struct bwl_stream {
    bwl_source   source; /* source.fd is -1: closed */
    bwl_reactor *reactor;
    bool         connecting; /* with TLS: until the handshake is over                         */
    bool         joined;     /* the socket is connected                                      */
    bool         heard;      /* something came, encrypted or not                             */
    bool         wants_out;  /* we watch for room to write                                    */
    bool         blocks;     /* so that a thread can wait in it; our other calls never do     */
    int          awaited_fd; /* in which a thread waits now; -1                               */
    char        *in;
    size_t       in_size;
    size_t       in_room;
    size_t       in_max;   /* more is not kept: read on when some was consumed               */
    size_t       in_taken; /* bytes before this were consumed                                */
    char        *out;
    size_t       out_size;
    size_t       out_room;
    size_t       out_sent;
    uint64_t     written;     /* bytes ever put in, since it was opened                      */
    uint64_t     handed_over; /* of those, bytes that the kernel has taken                   */
    bwl_tls     *tls; /* of this connection; NULL: clear text, or closed                     */
    const bwl_tls_context *context;    /* NULL: clear text                                     */
    const char            *host;       /* whose certificate is wanted                          */
    bwl_ms                 silence_ms; /* what was sent and is not acknowledged for so long
                                        * breaks the connection; 0: as the kernel has it       */
} bwl_stream;

/* `ready` is what the reactor calls; it must call bwl_stream_step.  At most `in_max` bytes are kept
 * that came and were not consumed. */
void bwl_stream_init(bwl_stream *conn, bwl_reactor                             *reactor,
                     void (*ready)(bwl_source *source, uint32_t events), size_t in_max);

/* From now on every connection of it is encrypted, with `host` at the other end.  Both are
 * borrowed. */
void bwl_stream_secure(bwl_stream *conn, const bwl_tls_context *context, const char *host);

/* Begins to connect.  SYSTEM, UNREACHABLE (refused at once), NOMEM.  Closed then. */
int bwl_stream_open(bwl_stream *conn, const bwl_address *address, bwl_fault *fault);

void bwl_stream_close(
    bwl_stream *conn); /* also when it is closed already                         */
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

/* Discards what has arrived, and does not wait.  True: nothing more arrives.  A socket that is
 * closed with bytes unread is reset, and the peer may lose what it has not read yet. */
bool bwl_stream_drain(bwl_stream *conn);

enum { BWL_STREAM_WAIT_MAX = 64 };

/* Waits for at most wait_ms until one of `count` open streams, at most BWL_STREAM_WAIT_MAX, can go
 * on: can send, if bytes wait to be sent, or else has received.  May return earlier. */
void bwl_stream_wait(bwl_stream *const *streams, unsigned count, bwl_ms wait_ms);

/* Does what the events say.  OK, or below 0: it is broken; REFUSED: and it would be no better the
 * next time (TLS).  Ends the connecting when that has succeeded. */
int bwl_stream_step(bwl_stream *conn, uint32_t events, bwl_fault *fault);

/* There is something that was not consumed yet: bytes, or the end of the stream. */
bool bwl_stream_has_unread(const bwl_stream *conn);

/* Room for `size` bytes behind those that wait to be sent, valid until the next call of anything
 * here; NULL: the queue is full, or there is no memory. */
char *bwl_stream_reserve(bwl_stream *conn, size_t size);

/* The first `size` bytes of the room that was reserved are to be sent. */
void bwl_stream_commit(bwl_stream *conn, size_t size);

/* Hands over what it can.  OK, or below 0: it is broken. */
int bwl_stream_flush(bwl_stream *conn, bwl_fault *fault);

/* Waiting for what comes in the socket itself, without the reactor: one system call less for an
 * answer.  Between begin and end, which one thread at a time may call, anybody may use the
 * connection, and close it: then it is shut down, so that the wait ends, and end closes it. */

enum {
    BWL_STREAM_AWAIT_MS   = 10, /* nobody can end a wait before that, but by closing             */
    BWL_STREAM_AWAIT_ROOM = 4096,
};

/* The descriptor to receive from, without the mutex (net/spin.h); EAGAIN: nothing has come.
 * -1: the reactor is needed, as there is more to wait for, or TLS. */
int bwl_stream_await_begin(bwl_stream *conn);

/* False: it was closed meanwhile, and what came is nobody's. */
bool bwl_stream_await_end(bwl_stream *conn);

/* Takes what was received, with its errno.  As bwl_stream_step. */
int bwl_stream_take(bwl_stream *conn, const char *bytes, ssize_t got, bwl_fault *fault);

/* What came and was not consumed, valid until the next call of bwl_stream_step or
 * bwl_stream_take. */
const char *bwl_stream_unread(const bwl_stream *conn, size_t *ret_size);
void        bwl_stream_consume(bwl_stream *conn, size_t size);

/* What comes next is an alert of TLS, as its servers send it to whoever speaks clear text. */
bool bwl_stream_sounds_like_tls(const bwl_stream *conn);
