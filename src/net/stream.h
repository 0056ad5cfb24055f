/*
 * stream.h -- one stream to one server: bytes out, frames in, and the exact truth about what was
 * handed to the kernel.
 *
 * Encrypted, if bwl_conn_secure was called: what goes in and out here stays clear text.
 *
 * Never blocks, never raises SIGPIPE, is not inherited by children of exec.  It knows nothing of
 * what the bytes mean, only where a RESP frame ends.  When anything is wrong with it, it is broken
 * for good: close it, and begin again.
 */
#ifndef BWL_NET_STREAM_H
#define BWL_NET_STREAM_H

#include "net/reactor.h"
#include "net/tls/tls.h"
#include "engine/redis/wire/resp.h"

#include <sys/socket.h>

typedef struct bwl_address {
    struct sockaddr_storage socket;
    socklen_t               size;
} bwl_address;

enum {
    BWL_CONN_OUT_MAX = 1024 * 1024, /* bytes that wait to be sent; more is refused             */
    BWL_CONN_IN_MAX  = BWL_RESP_FRAME_MAX + 16 * 1024 + BWL_TLS_IN_MAX,
};

typedef struct bwl_conn {
    bwl_source    source; /* source.fd is -1: closed */
    bwl_reactor  *reactor;
    bool          connecting; /* with TLS: until the handshake is over                         */
    bool          joined;     /* the socket is connected                                      */
    bool          heard;      /* something came, encrypted or not                             */
    bool          wants_out;  /* we watch for room to write                                    */
    bool          blocks;     /* so that a thread can wait in it; our other calls never do     */
    int           awaited_fd; /* in which a thread waits now; -1                               */
    char         *in;
    size_t        in_size;
    size_t        in_room;
    size_t        in_taken; /* frames before this were taken                                  */
    char         *out;
    size_t        out_size;
    size_t        out_room;
    size_t        out_sent;
    uint64_t      written;     /* bytes ever put in, since it was opened                      */
    uint64_t      handed_over; /* of those, bytes that the kernel has taken                   */
    bwl_resp_scan scan;
    bool          passes_long; /* the owner's: a value longer than any frame may come now      */
    uint64_t      long_left;   /* bytes of it that are still to be passed over                 */
    bwl_tls      *tls; /* of this connection; NULL: clear text, or closed                     */
    const bwl_tls_context *context;    /* NULL: clear text                                     */
    const char            *host;       /* whose certificate is wanted                          */
    bwl_ms                 silence_ms; /* what was sent and is not acknowledged for so long
                                        * breaks the connection; 0: as the kernel has it       */
} bwl_conn;

/* `ready` is what the reactor calls; it must call bwl_conn_step. */
void bwl_conn_init(bwl_conn *conn, bwl_reactor *reactor,
                   void (*ready)(bwl_source *source, uint32_t events));

/* From now on every connection of it is encrypted, with `host` at the other end.  Both are
 * borrowed. */
void bwl_conn_secure(bwl_conn *conn, const bwl_tls_context *context, const char *host);

/* Begins to connect.  SYSTEM, UNREACHABLE (refused at once), NOMEM.  Closed then. */
int bwl_conn_open(bwl_conn *conn, const bwl_address *address, bwl_fault *fault);

void bwl_conn_close(bwl_conn *conn); /* also when it is closed already                         */
void bwl_conn_free(bwl_conn *conn);

static inline bool bwl_conn_is_open(const bwl_conn *conn)
{
    return conn->source.fd >= 0;
}

/* Says goodbye where the way of the bytes has one, if everything was handed over. */
void bwl_conn_goodbye(bwl_conn *conn);

/* Does what the events say.  OK, or below 0: it is broken; REFUSED: and it would be no better the
 * next time (TLS).  Ends the connecting when that has succeeded. */
int bwl_conn_step(bwl_conn *conn, uint32_t events, bwl_fault *fault);

/* There is something that was not taken yet: bytes, or the end of it. */
bool bwl_conn_has_unread(const bwl_conn *conn);

/* A writer with room for `size` bytes, to be committed at once; false: the queue is full. */
bool bwl_conn_reserve(bwl_conn *conn, size_t size, bwl_resp_writer *ret_writer);
void bwl_conn_commit(bwl_conn *conn, const bwl_resp_writer *writer);

/* Hands over what it can.  OK, or below 0: it is broken. */
int bwl_conn_flush(bwl_conn *conn, bwl_fault *fault);

/* Waiting for what comes in the socket itself, without the reactor: one system call less for an
 * answer.  Between begin and end, which one thread at a time may call, anybody may use the
 * connection, and close it: then it is shut down, so that the wait ends, and end closes it. */

enum {
    BWL_CONN_AWAIT_MS   = 10, /* nobody can end a wait before that, but by closing             */
    BWL_CONN_AWAIT_ROOM = 4096,
};

/* The descriptor to receive from, without the mutex (runtime/spin.h); EAGAIN: nothing has come.
 * -1: the reactor is needed, as there is more to wait for, or TLS. */
int bwl_conn_await_begin(bwl_conn *conn);

/* False: it was closed meanwhile, and what came is nobody's. */
bool bwl_conn_await_end(bwl_conn *conn);

/* Takes what was received, with its errno.  As bwl_conn_step. */
int bwl_conn_take(bwl_conn *conn, const char *bytes, ssize_t got, bwl_fault *fault);

/* The next whole frame, which lives until the next call of anything here.  1: there is one, 0: not
 * yet, below 0: what comes is no RESP.  While passes_long is set, a value that is too long for a
 * frame is passed over without being kept: then the frame has no bytes (NULL). */
int bwl_conn_frame(bwl_conn *conn, const char **ret_bytes, size_t *ret_size, bwl_fault *fault);

/* What comes next is an alert of TLS, as its servers send it to whoever speaks clear text. */
bool bwl_conn_sounds_like_tls(const bwl_conn *conn);

#endif
