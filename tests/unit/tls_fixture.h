/*
 * tls_fixture.h -- certificates of all kinds, and a real OpenSSL server in the same program, for
 * the tests of TLS.
 *
 * The server's session reads from memory and writes to memory too, so a test moves every byte
 * between the two itself, in pieces of any size: no sockets, no other process, no clock.  The
 * certificates are made at the start of the test.
 */
#pragma once

#include "net/tls/tls_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* ---- certificates ---------------------------------------------------------------------------- */

enum { DAY = 24 * 60 * 60 };

typedef struct identity {
    X509     *certificate;
    EVP_PKEY *key;
} identity;

typedef struct recipe {
    const char     *common_name;
    const char     *alternatives; /* "DNS:redis.test,IP:::1"; NULL: none                       */
    const identity *issuer;       /* NULL: itself                                              */
    const char     *use;          /* "clientAuth"; NULL: all                                   */
    bool            is_authority;
    int             from_day; /* counted from today; both 0: from yesterday to next month      */
    int             to_day;
} recipe;

static inline void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX      about;
    X509_EXTENSION *extension;

    X509V3_set_ctx_nodb(&about);
    X509V3_set_ctx(&about, issuer, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &about, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static inline identity make_identity(const recipe *how)
{
    static long serial = 1;
    identity    made   = { X509_new(), EVP_EC_gen("P-256") };
    bool        timed  = how->from_day != 0 || how->to_day != 0;

    assert_non_null(made.certificate);
    assert_non_null(made.key);
    X509       *issuer = how->issuer != NULL ? how->issuer->certificate : made.certificate;
    EVP_PKEY   *signer = how->issuer != NULL ? how->issuer->key : made.key;
    X509_NAME  *name   = X509_get_subject_name(made.certificate);
    const void *text   = how->common_name;
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0), 1);
    X509_set_version(made.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), (timed ? how->from_day : -1) * DAY);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), (timed ? how->to_day : 30) * DAY);
    X509_set_pubkey(made.certificate, made.key);
    X509_set_issuer_name(made.certificate, X509_get_subject_name(issuer));
    add_extension(made.certificate, issuer, NID_basic_constraints,
                  how->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    add_extension(made.certificate, issuer, NID_subject_key_identifier, "hash");
    if (how->alternatives != NULL)
        add_extension(made.certificate, issuer, NID_subject_alt_name, how->alternatives);
    if (how->use != NULL)
        add_extension(made.certificate, issuer, NID_ext_key_usage, how->use);
    assert_true(X509_sign(made.certificate, signer, EVP_sha256()) > 0);
    return made;
}

/* The usual certificate of a server. */
static inline identity make_host(const char *alternatives, const identity *issuer)
{
    return make_identity(
        &(recipe){ .common_name = "x", .alternatives = alternatives, .issuer = issuer });
}

static inline void free_identity(identity *old)
{
    X509_free(old->certificate);
    EVP_PKEY_free(old->key);
    *old = (identity){ 0 };
}

/* ---- files ----------------------------------------------------------------------------------- */

static char directory[64];

/* The path of a file of this name; valid for a few calls. */
static inline const char *path_of(const char *name)
{
    static char paths[8][128];
    static int  turn;
    char       *path = paths[turn++ % 8];

    (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static inline FILE *open_file(const char *name)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    return file;
}

static inline void write_text(const char *name, const char *text)
{
    FILE *file = open_file(name);

    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* `second` follows the first in the file, as in a chain; NULL: there is none. */
static inline void write_certificates(const char *name, const identity *first,
                                      const identity *second)
{
    FILE *file = open_file(name);

    assert_int_equal(PEM_write_X509(file, first->certificate), 1);
    if (second != NULL)
        assert_int_equal(PEM_write_X509(file, second->certificate), 1);
    assert_int_equal(fclose(file), 0);
}

static inline void write_key(const char *name, const identity *whose, mode_t mode)
{
    FILE *file = open_file(name);

    assert_int_equal(PEM_write_PrivateKey(file, whose->key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static inline void make_directory(void)
{
    const char *above = getenv("TMPDIR");

    (void)snprintf(directory, sizeof directory, "%.40s/test_tls.XXXXXX",
                   above != NULL ? above : "/tmp");
    assert_non_null(mkdtemp(directory));
}

static inline void remove_directory(void)
{
    static const char *const names[] = { "ca.pem",    "other-ca.pem", "cert.pem",   "key.pem",
                                         "other.pem", "both.pem",     "text.pem",   "empty.pem",
                                         "pipe.pem",  "locked.pem",   "openssl.cnf" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(path_of(names[i]));
    assert_int_equal(rmdir(directory), 0);
}

/* ---- a server -------------------------------------------------------------------------------- */

typedef struct server_terms {
    const identity *who;       /* NULL: none, for ciphers without                             */
    const identity *above;     /* sent after it; NULL: nothing */
    const identity *asks_for;  /* requires a certificate of this authority; NULL: requires none */
    const char     *ciphers;   /* NULL: the defaults */
    int             version;   /* the only version; 0: any */
    unsigned        piece_max; /* bytes per record; 0: the default */
    int (*sees_name)(SSL *, int *, void *); /* the server name in the handshake (SNI) */
    void *sees_name_arg;
} server_terms;

typedef struct server {
    SSL_CTX *ctx;
    SSL     *ssl;
    BIO     *in;
    BIO     *out;
} server;

static inline server start_server(const server_terms *terms)
{
    server s = { .ctx = SSL_CTX_new(TLS_server_method()) };

    assert_non_null(s.ctx);
    if (terms->who != NULL) {
        assert_int_equal(SSL_CTX_use_certificate(s.ctx, terms->who->certificate), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(s.ctx, terms->who->key), 1);
    }
    if (terms->above != NULL)
        assert_int_equal(SSL_CTX_add1_chain_cert(s.ctx, terms->above->certificate), 1);
    if (terms->asks_for != NULL) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(s.ctx), terms->asks_for->certificate);
        SSL_CTX_add_client_CA(s.ctx, terms->asks_for->certificate);
        SSL_CTX_set_verify(s.ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    (void)SSL_CTX_set_session_id_context(s.ctx, (const unsigned char *)"test", 4);
    if (terms->ciphers != NULL)
        assert_int_equal(SSL_CTX_set_cipher_list(s.ctx, terms->ciphers), 1);
    if (terms->version != 0) {
        SSL_CTX_set_min_proto_version(s.ctx, terms->version);
        SSL_CTX_set_max_proto_version(s.ctx, terms->version);
    }
    if (terms->piece_max != 0)
        assert_int_equal(SSL_CTX_set_max_send_fragment(s.ctx, terms->piece_max), 1);
    if (terms->sees_name != NULL) {
        SSL_CTX_set_tlsext_servername_callback(s.ctx, terms->sees_name);
        SSL_CTX_set_tlsext_servername_arg(s.ctx, terms->sees_name_arg);
    }
    s.ssl = SSL_new(s.ctx);
    s.in  = BIO_new(BIO_s_mem());
    s.out = BIO_new(BIO_s_mem());
    SSL_set_bio(s.ssl, s.in, s.out);
    SSL_set_accept_state(s.ssl);
    return s;
}

static inline void free_server(server *s)
{
    SSL_free(s->ssl);
    SSL_CTX_free(s->ctx);
    ERR_clear_error();
}

static inline void server_sends(server *s, const char *text)
{
    assert_int_equal(SSL_write(s->ssl, text, (int)strlen(text)), (int)strlen(text));
    ERR_clear_error();
}

/* Returns what the server reads now, up to a few kilobytes; "" if nothing. */
static inline const char *server_receives(server *s)
{
    static char text[20000];
    int         size = SSL_read(s->ssl, text, sizeof text - 1);

    ERR_clear_error();
    text[size > 0 ? size : 0] = '\0';
    return text;
}

/* ---- moving bytes ---------------------------------------------------------------------------- */

/* Moves a piece of the client's output.  Returns its size. */
static inline size_t carry_to_server(bwl_tls *tls, server *s, size_t piece)
{
    const char *bytes;
    size_t      size = bwl_tls_out(tls, &bytes);

    if (size > piece)
        size = piece;
    if (size == 0)
        return 0;
    assert_int_equal(BIO_write(s->in, bytes, (int)size), (int)size);
    bwl_tls_sent(tls, size);
    return size;
}

/* Moves a piece of the server's output.  Returns its size. */
static inline size_t carry_to_client(bwl_tls *tls, server *s, size_t piece, bwl_fault *fault)
{
    char bytes[4096];
    int  most = piece < sizeof bytes ? (int)piece : (int)sizeof bytes;
    int  size = BIO_read(s->out, bytes, most);

    if (size <= 0)
        return 0;
    return bwl_tls_feed(tls, bytes, (size_t)size, fault) == BWL_OK ? (size_t)size : 0;
}

/* Runs the handshake to its end.  Returns the last status of the client. */
static inline int do_handshake(bwl_tls *tls, server *s, size_t piece, bwl_fault *fault)
{
    int  status = bwl_tls_step(tls, fault);
    bool moved  = true;

    while (status == BWL_OK && moved) {
        moved = carry_to_server(tls, s, piece) > 0;
        (void)SSL_do_handshake(s->ssl);
        ERR_clear_error();
        moved  = carry_to_client(tls, s, piece, fault) > 0 || moved;
        status = bwl_tls_step(tls, fault);
    }
    return status;
}

/* Reads the client's plaintext until there is no more.  Returns the last status. */
static inline int read_all(bwl_tls *tls, char *ret_text, size_t room, bwl_fault *fault)
{
    size_t  used = 0;
    ssize_t got;

    while ((got = bwl_tls_read(tls, ret_text + used, room - used - 1, fault)) > 0)
        used += (size_t)got;
    ret_text[used] = '\0';
    return (int)got;
}

static inline bwl_tls_context *must_make_context(const bwl_tls_options *options)
{
    bwl_tls_context *context = NULL;
    bwl_fault        fault   = { 0 };

    if (bwl_tls_context_new(&context, options, &fault) < 0)
        fail_msg("no context: %s", fault.text);
    return context;
}

static inline bwl_tls *must_start(const bwl_tls_context *context, const char *host)
{
    bwl_tls  *tls   = NULL;
    bwl_fault fault = { 0 };

    if (bwl_tls_start(&tls, context, host, &fault) < 0)
        fail_msg("no session: %s", fault.text);
    return tls;
}

/* Prints the text if the assertion fails. */
static inline void assert_fault(const bwl_fault *fault, int status, const char *part)
{
    if (fault->status != status || strstr(fault->text, part) == NULL)
        fail_msg("status %d and \"%s\" expected, status %d and \"%s\" found", status, part,
                 fault->status, fault->text);
}
