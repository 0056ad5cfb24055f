/*
 * tls.h -- TLS for one stream of bytes, without the stream.
 *
 * A session is handed what came from the peer and says what is to be sent to it; whoever owns the
 * socket does the receiving and the sending.  So a session never blocks, never raises SIGPIPE, and
 * can be tested byte by byte.
 *
 *      socket --> bwl_tls_feed --> bwl_tls_step, bwl_tls_read  --> clear bytes in
 *      socket <-- bwl_tls_out, bwl_tls_sent <-- bwl_tls_write <-- clear bytes out
 *
 *      HANDSHAKING --step--> OPEN --the peer says goodbye--> ENDED
 *           |                 |
 *           +-----------------+--anything wrong, a cut--> FAILED
 *
 * ENDED and FAILED are for good: from then on every call says the same again.
 *
 * There is no TLS below 1.2, and none without checking who is at the other end: its certificate
 * must come from an authority that is trusted here and must name the host that was asked for.  The
 * name is looked for where RFC 9525 has it, in subjectAltName; a common name counts for nothing,
 * and `*` only for one whole label.  None of this can be turned off.
 *
 * What surely has not left.  Of the clear bytes that bwl_tls_write took, those from
 * bwl_tls_handed_over() on are in no byte that was handed to the socket; nor are those that it
 * did not take.  If the connection is given up now, nobody will ever read them.  This is kept exact
 * by encrypting late: a record is made only when all that was made before has been sent, and none
 * of the record counts as kept back from the moment when its first byte is sent.
 *
 * Memory: BWL_TLS_IN_MAX bytes that came, BWL_TLS_OUT_MAX that wait, and what OpenSSL needs itself
 * for two records.
 */
#pragma once

#include "core/status.h"

#include <sys/types.h>

enum {
    BWL_TLS_RECORD_MAX = 16384,      /* clear bytes that one record can carry                  */
    BWL_TLS_IN_MAX     = 32 * 1024,  /* encrypted bytes that wait to be read                   */
    BWL_TLS_OUT_MAX    = 128 * 1024, /* encrypted bytes that wait to be sent: a record, or a
                                      * handshake with a long chain of certificates            */
    BWL_TLS_HOST_MAX   = 253,        /* characters of a host name, as in the DNS               */
};

/* The options of a URL that stand for the files, as faults name them to people. */
#define BWL_TLS_OPTION_CA   "ca"
#define BWL_TLS_OPTION_CERT "cert"
#define BWL_TLS_OPTION_KEY  "cert-key"

/* Whom we trust, and who we are: made once, used by any number of sessions. */
typedef struct bwl_tls_context bwl_tls_context;

typedef struct bwl_tls_options {
    const char *ca_file;   /* NULL: the authorities that this system trusts                    */
    const char *cert_file; /* NULL: none.  The chain, ours first                               */
    const char *key_file;  /* NULL: in cert_file                                               */
} bwl_tls_options;

/* Reads the files; loads OpenSSL if nobody has.  UNSUPPORTED (no OpenSSL 3), USAGE (a key without a
 * certificate), SYSTEM (cannot be read), REFUSED (is not what it should be), NOMEM.  Free it
 * with bwl_tls_context_free, after its sessions. */
int  bwl_tls_context_new(bwl_tls_context **ret_context, const bwl_tls_options *options,
                         bwl_fault *fault);
void bwl_tls_context_free(bwl_tls_context *context); /* also NULL                              */

typedef struct bwl_tls bwl_tls;

/* Begins a session with `host`, a name or a numeric address without brackets, which is copied.  The
 * first thing to be sent can be had after the first step.  USAGE: no certificate could be checked
 * against such a name.  NOMEM.  Free it with bwl_tls_free. */
int  bwl_tls_start(bwl_tls **ret_tls, const bwl_tls_context *context, const char *host,
                   bwl_fault *fault);
void bwl_tls_free(bwl_tls *tls); /* also NULL; sends nothing                                   */

/* How much bwl_tls_feed takes now.  0: read first. */
size_t bwl_tls_room(const bwl_tls *tls);

/* Takes what came from the socket, which may be any piece of it, of at most bwl_tls_room() bytes.
 * NOMEM. */
int bwl_tls_feed(bwl_tls *tls, const void *bytes, size_t size, bwl_fault *fault);

/* The socket has come to its end.  What came before it can still be read. */
void bwl_tls_feed_end(bwl_tls *tls);

/* What is to be sent, and how many bytes it is; until the next call of anything but this.  Also
 * after a failure: then it is the alert that tells the peer, if it can be sent. */
size_t bwl_tls_out(const bwl_tls *tls, const char **ret_bytes);

/* The socket has taken the first `size` bytes of that. */
void bwl_tls_sent(bwl_tls *tls, size_t size);

/* Takes the handshake as far as it goes with what came; does nothing when it is over.  OK; else the
 * fault says why.  REFUSED: it would be no better the next time (the certificate, the version, no
 * TLS there); UNREACHABLE: it might (closed, cut off).  A refusal of OUR certificate may also
 * come later, from bwl_tls_read: since TLS 1.3 the server looks at it last. */
int  bwl_tls_step(bwl_tls *tls, bwl_fault *fault);
bool bwl_tls_is_open(const bwl_tls *tls);

/* The clear bytes that came.  How many; 0: no more for now, and read on until it says so, as
 * nothing else will tell that there were more.  UNREACHABLE: the peer said goodbye, or the stream
 * was cut off (the fault says which); REFUSED: what comes is not to be believed, or the server does
 * not want us. */
ssize_t bwl_tls_read(bwl_tls *tls, char *ret_bytes, size_t room, bwl_fault *fault);

/* Encrypts up to one record.  How many bytes were taken: 0 if there is something to be sent first,
 * or the handshake is not over, or more must come from the peer first.  Below 0 as
 * bwl_tls_read. */
ssize_t bwl_tls_write(bwl_tls *tls, const char *bytes, size_t size, bwl_fault *fault);

/* Of the bytes that were ever taken, those of which the socket may have got something.  */
uint64_t bwl_tls_handed_over(const bwl_tls *tls);

/* Says goodbye: what is then to be sent ends the session for the peer too.  Nothing can be written
 * after it. */
void bwl_tls_goodbye(bwl_tls *tls);
