/*
 * tls.h -- a TLS session without a socket.
 *
 * The owner of the socket receives and sends; the session takes the received bytes, and produces
 * the bytes to send.  So a session never blocks, never raises SIGPIPE, and can be tested byte by
 * byte.
 *
 *      socket --> bwl_tls_feed --> bwl_tls_step, bwl_tls_read  --> clear bytes in
 *      socket <-- bwl_tls_out, bwl_tls_sent <-- bwl_tls_write <-- clear bytes out
 *
 *      HANDSHAKING --step--> OPEN --close alert of the peer--> ENDED
 *           |                 |
 *           +-----------------+--any error, or cut off--> FAILED
 *
 * ENDED and FAILED are final: every later call returns the same result.
 *
 * TLS below 1.2 is refused, and the peer is always verified: its certificate must come from a
 * trusted authority and must name the requested host in subjectAltName (RFC 9525).  The common name
 * is ignored, and `*` matches only one whole label.  None of this can be turned off.
 *
 * What was certainly not sent.  Of the clear bytes that bwl_tls_write took, no part of those from
 * bwl_tls_handed_over() on was given to the socket.  If the connection is closed now, no peer can
 * read them.  This is exact because encryption is late: a record is made only when everything
 * before it was sent, and all of its bytes count as handed over when its first byte is sent.
 *
 * Memory: BWL_TLS_IN_MAX bytes of input, BWL_TLS_OUT_MAX of output, and OpenSSL's own buffers for
 * two records.
 */
#pragma once

#include "core/status.h"

#include <sys/types.h>

enum {
    BWL_TLS_RECORD_MAX = 16384,      /* clear bytes in one record */
    BWL_TLS_IN_MAX     = 32 * 1024,  /* encrypted bytes to be read */
    BWL_TLS_OUT_MAX    = 128 * 1024, /* encrypted bytes to be sent, e.g. a certificate chain */
    BWL_TLS_HOST_MAX   = 253,        /* characters of a host name, as in the DNS */
};

/* The URL options that name the files, for messages. */
#define BWL_TLS_OPTION_CA   "ca"
#define BWL_TLS_OPTION_CERT "cert"
#define BWL_TLS_OPTION_KEY  "cert-key"

/* The trusted authorities and our certificate: created once, used by any number of sessions. */
typedef struct bwl_tls_context bwl_tls_context;

typedef struct bwl_tls_options {
    const char *ca_file;   /* NULL: the system's authorities                */
    const char *cert_file; /* NULL: none.  The chain, our certificate first */
    const char *key_file;  /* NULL: in cert_file                            */
} bwl_tls_options;

/* Reads the files; loads OpenSSL at the first call.  UNSUPPORTED (no OpenSSL 3), USAGE (a key
 * without a certificate), SYSTEM (cannot be read), REFUSED (invalid content), NOMEM.  Free it with
 * bwl_tls_context_free, after its sessions. */
int  bwl_tls_context_new(bwl_tls_context **ret_context, const bwl_tls_options *options,
                         bwl_fault *fault);
void bwl_tls_context_free(bwl_tls_context *context); /* also NULL                              */

typedef struct bwl_tls bwl_tls;

/* Starts a session with `host`, a name or a numeric address without brackets, which is copied.  The
 * first step produces the first output.  USAGE: no certificate can match such a name.  NOMEM.  Free
 * it with bwl_tls_free. */
int  bwl_tls_start(bwl_tls **ret_tls, const bwl_tls_context *context, const char *host,
                   bwl_fault *fault);
void bwl_tls_free(bwl_tls *tls); /* also NULL; sends nothing                                   */

/* How many bytes bwl_tls_feed takes now.  0: read first. */
size_t bwl_tls_room(const bwl_tls *tls);

/* Takes at most bwl_tls_room() bytes from the socket, in any pieces.  NOMEM. */
int bwl_tls_feed(bwl_tls *tls, const void *bytes, size_t size, bwl_fault *fault);

/* The socket has reached the end of the stream.  Earlier bytes can still be read. */
void bwl_tls_feed_end(bwl_tls *tls);

/* The bytes to send and their number, valid until any other call.  Also after a failure: then it is
 * the alert for the peer, if it can be sent. */
size_t bwl_tls_out(const bwl_tls *tls, const char **ret_bytes);

/* The socket has taken the first `size` bytes of the output. */
void bwl_tls_sent(bwl_tls *tls, size_t size);

/* Continues the handshake with the bytes fed; no effect when it is complete.  OK; REFUSED: a new
 * connection would fail the same way (the certificate, the version, no TLS there); UNREACHABLE: it
 * might succeed (closed, cut off).  A refusal of OUR certificate may also come later, from
 * bwl_tls_read: since TLS 1.3 the server checks it last. */
int  bwl_tls_step(bwl_tls *tls, bwl_fault *fault);
bool bwl_tls_is_open(const bwl_tls *tls);

/* Reads clear bytes; returns their number; 0: no more for now.  Read until it returns 0: no event
 * announces the rest.  UNREACHABLE: the peer closed, or the stream was cut off (the fault says
 * which); REFUSED: the bytes are not authentic, or the server refuses us. */
ssize_t bwl_tls_read(bwl_tls *tls, char *ret_bytes, size_t room, bwl_fault *fault);

/* Encrypts up to one record; returns the number of bytes taken: 0 if there is output to be sent
 * first, or the handshake is not complete, or the peer must send first.  Below 0 as
 * bwl_tls_read. */
ssize_t bwl_tls_write(bwl_tls *tls, const char *bytes, size_t size, bwl_fault *fault);

/* The number of clear bytes of which the socket may have got a part. */
uint64_t bwl_tls_handed_over(const bwl_tls *tls);

/* Queues the close alert, which ends the session for the peer.  No writes after it. */
void bwl_tls_goodbye(bwl_tls *tls);
