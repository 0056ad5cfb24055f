/*
 * tls_inside.h -- shared by the TLS files.
 *
 *      tls_library.c   OpenSSL, loaded when needed
 *      tls_context.c   the files: authorities, our certificate, our key
 *      tls.c           one session: bytes in, bytes out; errors as texts for users
 */
#pragma once

#include "net/tls/tls.h"
#include "net/tls/tls_library.h"

struct bwl_tls_context {
    const bwl_tls_library *openssl;
    struct ssl_ctx_st     *ctx;
    char                  *ca_file; /* NULL: the system's.  For messages */
    bool                   has_certificate;
    bool                   was_asked_for_passphrase;
};

typedef enum bwl_tls_phase {
    BWL_TLS_HANDSHAKING = 1,
    BWL_TLS_OPEN,
    BWL_TLS_ENDED,
    BWL_TLS_FAILED,
} bwl_tls_phase;

enum { BWL_TLS_FIRST_MAX = 40, BWL_TLS_NAMES_MAX = 96, BWL_TLS_DATE_MAX = 16 };

/* Why a certificate was rejected: stored in the verify callback, because OpenSSL does not keep
 * it. */
typedef struct bwl_tls_candidate_error {
    int  error;                     /* X509_V_ERR_...; 0: none */
    int  depth;                     /* 0: the server's own; above 0: an authority's */
    char names[BWL_TLS_NAMES_MAX];  /* names in the server's own: "a.test, b.test"; "": none */
    char issuer[BWL_TLS_NAMES_MAX]; /* of the rejected one; "": no common name */
    char date[BWL_TLS_DATE_MAX];    /* "2026-03-01": end or start of the rejected one */
} bwl_tls_candidate_error;

struct bwl_tls {
    const bwl_tls_library  *openssl;
    const bwl_tls_context  *context;
    struct ssl_st          *ssl;
    struct bio_st          *in;  /* input; owned by ssl, as is out */
    struct bio_st          *out; /* output */
    bwl_tls_phase           phase;
    bool                    input_ended;
    uint64_t                written; /* clear bytes taken */
    uint64_t                handed_over;
    size_t                  first_size;
    char                    first[BWL_TLS_FIRST_MAX]; /* the first bytes received */
    char                    host[BWL_TLS_HOST_MAX + 1];
    bwl_tls_candidate_error candidate_error;
    bwl_fault               fault; /* ENDED, FAILED: the result of every later call */
};

/* OpenSSL's verify callback, for every certificate of the chain: stores the error, and never
 * overrules it. */
int bwl_tls_note_candidate_error(int preverified, struct x509_store_ctx_st *chain);
