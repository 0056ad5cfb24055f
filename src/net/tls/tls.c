/*
 * tls.c -- one session.  See tls.h.
 *
 * OpenSSL reads from and writes to memory (memory BIOs), so the only reason to wait is "more input
 * from the peer".  Its error queue belongs to the thread, not to the session, and a stale entry
 * would be taken for our error: it is cleared before and after every step.
 *
 * Errors are texts for users, with advice where the cause is known.  Text from the peer (names in
 * its certificate, clear text) is cut, and stripped of everything that is not printable.
 */
#include "base/fault.h"
#include "net/tls/tls_inside.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_ALERT = 21, RECORD_HANDSHAKE = 22, VERSION_MAJOR = 3 };

/* ---- not TLS at all -------------------------------------------------------------------------- */

/* A record begins with its type, then 3.  A server's first record is of the handshake, or an
 * alert. */
static bool looks_like_tls(const bwl_tls *tls)
{
    if (tls->first_size > 0 && tls->first[0] != RECORD_HANDSHAKE && tls->first[0] != RECORD_ALERT)
        return false;
    return tls->first_size < 2 || tls->first[1] == VERSION_MAJOR;
}

/* Copies the first line of the text; nothing, if a byte is not printable. */
static void copy_line(char *ret_line, size_t room, const char *bytes, size_t size)
{
    size_t used = 0;

    while (used < size && used + 1 < room && bytes[used] != '\r' && bytes[used] != '\n') {
        if (bytes[used] < ' ' || bytes[used] > '~') {
            used = 0;
            break;
        }
        ret_line[used] = bytes[used];
        used++;
    }
    ret_line[used] = '\0';
}

static int say_not_tls(const bwl_tls *tls, bwl_fault *fault)
{
    char line[BWL_TLS_FIRST_MAX + 1];

    copy_line(line, sizeof line, tls->first, tls->first_size);
    if (line[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "what answers there is not TLS: is this the port for TLS?");
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "what answers there is not TLS, it says \"%s\": is this the port for TLS?",
                    line);
}

static int say_cut_off(const bwl_tls *tls, bwl_fault *fault)
{
    if (tls->phase == BWL_TLS_OPEN)
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                        "the connection was cut off (without close_notify of TLS)");
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                    "the server closed the connection during the TLS handshake%s",
                    tls->first_size == 0 ? ": is this the port for TLS?" : "");
}

/* ---- certificates ---------------------------------------------------------------------------- */

typedef struct names {
    char    *text; /* of BWL_TLS_NAMES_MAX bytes */
    size_t   used;
    unsigned left_out;
} names;

static void add_name(names *list, const char *name, size_t size)
{
    size_t comma = list->used > 0 ? 2 : 0;

    if (list->used + comma + size + sizeof " and 999 more" > BWL_TLS_NAMES_MAX) {
        list->left_out++;
        return;
    }
    memcpy(list->text + list->used, ", ", comma);
    list->used += comma;
    for (size_t i = 0; i < size; i++) {
        char c                   = name[i];
        list->text[list->used++] = c;
        if (c < ' ' || c > '~')
            list->text[list->used - 1] = '?';
    }
    list->text[list->used] = '\0';
}

static void add_alternative(const bwl_tls_library *openssl, names *list,
                            const struct GENERAL_NAME_st *alternative)
{
    int         kind  = 0;
    const void *value = openssl->GENERAL_NAME_get0_value(alternative, &kind);
    char        address[INET6_ADDRSTRLEN];

    if (kind != BWL_GEN_DNS && kind != BWL_GEN_IPADD)
        return;
    const unsigned char *bytes = openssl->ASN1_STRING_get0_data(value);
    size_t               size  = (size_t)openssl->ASN1_STRING_length(value);
    if (kind == BWL_GEN_DNS)
        add_name(list, (const char *)bytes, size);
    else if ((size == 4 && inet_ntop(AF_INET, bytes, address, sizeof address) != NULL) ||
             (size == 16 && inet_ntop(AF_INET6, bytes, address, sizeof address) != NULL))
        add_name(list, address, strlen(address));
}

/* Writes the names in a certificate, as far as they fit. */
static void write_names(const bwl_tls_library *openssl, char ret_text[BWL_TLS_NAMES_MAX],
                        const struct x509_st *certificate)
{
    names                         list = { .text = ret_text };
    struct stack_st_GENERAL_NAME *all =
        openssl->X509_get_ext_d2i(certificate, BWL_NID_subject_alt_name, NULL, NULL);

    ret_text[0] = '\0';
    if (all == NULL)
        return;
    const struct stack_st *stack = (const struct stack_st *)(const void *)all;
    for (int i = 0; i < openssl->OPENSSL_sk_num(stack); i++)
        add_alternative(openssl, &list, openssl->OPENSSL_sk_value(stack, i));
    openssl->GENERAL_NAMES_free(all);
    if (list.left_out > 0)
        (void)snprintf(ret_text + list.used, BWL_TLS_NAMES_MAX - list.used, "%s%u more",
                       list.used > 0 ? " and " : "", list.left_out > 999 ? 999 : list.left_out);
}

static void write_issuer(const bwl_tls_library *openssl, char ret_text[BWL_TLS_NAMES_MAX],
                         const struct x509_st *certificate)
{
    char  name[64];
    names list = { .text = ret_text };
    int   size = openssl->X509_NAME_get_text_by_NID(openssl->X509_get_issuer_name(certificate),
                                                    BWL_NID_commonName, name, sizeof name);

    ret_text[0] = '\0';
    if (size > 0)
        add_name(&list, name, strnlen(name, sizeof name));
}

static void write_date(const bwl_tls_library *openssl, char ret_text[BWL_TLS_DATE_MAX],
                       const struct asn1_string_st *date)
{
    struct tm day;

    if (openssl->ASN1_TIME_to_tm(date, &day) != 1 ||
        strftime(ret_text, BWL_TLS_DATE_MAX, "%Y-%m-%d", &day) == 0)
        (void)snprintf(ret_text, BWL_TLS_DATE_MAX, "no day");
}

int bwl_tls_note_candidate_error(int preverified, struct x509_store_ctx_st *chain)
{
    const bwl_tls_library *openssl = bwl_tls_library_get(NULL);
    const struct ssl_st   *ssl =
        openssl->X509_STORE_CTX_get_ex_data(chain, openssl->SSL_get_ex_data_X509_STORE_CTX_idx());
    bwl_tls              *tls   = openssl->SSL_get_ex_data(ssl, 0);
    const struct x509_st *first = openssl->X509_STORE_CTX_get0_cert(chain);
    const struct x509_st *which = openssl->X509_STORE_CTX_get_current_cert(chain);

    if (preverified == 1 || tls->candidate_error.error != 0)
        return preverified;
    if (which == NULL)
        which = first;
    tls->candidate_error.error = openssl->X509_STORE_CTX_get_error(chain);
    tls->candidate_error.depth = openssl->X509_STORE_CTX_get_error_depth(chain);
    if (which == NULL)
        return preverified; /* no certificate to describe */
    write_names(openssl, tls->candidate_error.names, first);
    write_issuer(openssl, tls->candidate_error.issuer, which);
    if (tls->candidate_error.error == BWL_X509_V_ERR_CERT_NOT_YET_VALID)
        write_date(openssl, tls->candidate_error.date, openssl->X509_get0_notBefore(which));
    else
        write_date(openssl, tls->candidate_error.date, openssl->X509_get0_notAfter(which));
    openssl->ERR_clear_error();
    return preverified;
}

static int say_other_host(const bwl_tls *tls, bwl_fault *fault)
{
    bool is_address = tls->candidate_error.error == BWL_X509_V_ERR_IP_ADDRESS_MISMATCH;

    if (tls->candidate_error.names[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the certificate of %.90s names no host: it needs a subjectAltName",
                        tls->host);
    return bwl_fail(fault, BWL_STATUS_REFUSED, "the certificate of %.90s is for %s%s", tls->host,
                    tls->candidate_error.names,
                    is_address ? "; an address must be in it as IP:" : "");
}

static int say_unknown_authority(const bwl_tls *tls, bwl_fault *fault)
{
    const bwl_tls_candidate_error *candidate = &tls->candidate_error;
    bool is_self = candidate->error == BWL_X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT;
    char whose[BWL_TLS_NAMES_MAX + 32];

    if (is_self)
        (void)snprintf(whose, sizeof whose, "signed by itself");
    else if (candidate->issuer[0] == '\0')
        (void)snprintf(whose, sizeof whose, "of an authority without a name");
    else
        (void)snprintf(whose, sizeof whose, "of the authority \"%s\"", candidate->issuer);
    if (tls->context->ca_file != NULL)
        return bwl_fail(fault, BWL_STATUS_REFUSED, "the certificate of %.70s is %s, not of %.60s",
                        tls->host, whose, tls->context->ca_file);
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "the certificate of %.70s is %s, unknown here: if it is yours, give %s=FILE",
                    tls->host, whose, BWL_TLS_OPTION_CA);
}

static int say_candidate_error(const bwl_tls *tls, bwl_fault *fault)
{
    const bwl_tls_candidate_error *candidate = &tls->candidate_error;
    const char                    *whose     = candidate->depth == 0 ? "" : "authority behind the ";

    switch (candidate->error) {
    case BWL_X509_V_ERR_HOSTNAME_MISMATCH:
    case BWL_X509_V_ERR_IP_ADDRESS_MISMATCH: return say_other_host(tls, fault);
    case BWL_X509_V_ERR_CERT_HAS_EXPIRED:
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the %scertificate of %.90s has expired: it ended on %s", whose, tls->host,
                        candidate->date);
    case BWL_X509_V_ERR_CERT_NOT_YET_VALID:
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the %scertificate of %.90s begins on %s: is this machine's clock right?",
                        whose, tls->host, candidate->date);
    case BWL_X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case BWL_X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case BWL_X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case BWL_X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case BWL_X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: return say_unknown_authority(tls, fault);
    case BWL_X509_V_ERR_INVALID_PURPOSE:
        return bwl_fail(fault, BWL_STATUS_REFUSED, "the %scertificate of %.90s is not for servers",
                        whose, tls->host);
    default: /* OpenSSL may add values */
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the %scertificate of %.90s is not trusted: %.80s", whose, tls->host,
                        tls->openssl->X509_verify_cert_error_string(candidate->error));
    }
}

/* ---- everything else ------------------------------------------------------------------------- */

typedef struct alert {
    int         number; /* RFC 8446, section 6; RFC 5246, section 7.2 */
    const char *words;
} alert;

static const alert about_us[] = {
    { 42, "the server cannot read our certificate" },
    { 43, "the server has no use for our kind of certificate" },
    { 44, "the server says that our certificate was revoked" },
    { 45, "the server says that our certificate has expired" },
    { 46, "the server does not accept our certificate" },
    { 48, "the server does not know the authority of our certificate" },
    { 49, "the server does not let us in with our certificate" },
    { 51, "the server does not believe the signature of our certificate" },
    { 70, "the server speaks no version of TLS that we do, which are 1.2 and newer" },
    { 71, "the server wants stronger encryption than ours" },
    { 112, "the server has no certificate for the host that we asked for" },
};

enum { ALERT_HANDSHAKE_FAILURE = 40, ALERT_CERTIFICATE_REQUIRED = 116 };

static int say_certificate_wanted(const bwl_tls *tls, bwl_fault *fault)
{
    if (tls->context->has_certificate)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the server does not know the authority of our certificate");
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "the server requires a client certificate: give %s=FILE and %s=FILE",
                    BWL_TLS_OPTION_CERT, BWL_TLS_OPTION_KEY);
}

static int say_alert(const bwl_tls *tls, int number, const char *words, bwl_fault *fault)
{
    for (size_t i = 0; i < sizeof about_us / sizeof about_us[0]; i++)
        if (about_us[i].number == number)
            return bwl_fail(fault, BWL_STATUS_REFUSED, "%s", about_us[i].words);
    if (number == ALERT_CERTIFICATE_REQUIRED)
        return say_certificate_wanted(tls, fault);
    if (number == ALERT_HANDSHAKE_FAILURE) {
        /* TLS 1.2 has no alert of its own for a missing certificate; but the server requested
         * one. */
        if (!tls->context->has_certificate && tls->openssl->SSL_get0_peer_CA_list(tls->ssl) != NULL)
            return say_certificate_wanted(tls, fault);
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the server has no cipher in common with this client");
    }
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "the server ended TLS: %.100s", words);
}

static int say_error(const bwl_tls *tls, unsigned long error, bwl_fault *fault)
{
    const char *words  = tls->openssl->ERR_reason_error_string(error);
    int         reason = bwl_tls_error_reason(error);

    if (words == NULL)
        words = "OpenSSL does not say why";
    if (bwl_tls_error_library(error) == BWL_ERR_LIB_SSL) {
        if (reason > BWL_SSL_AD_REASON_OFFSET && reason <= BWL_SSL_AD_REASON_OFFSET + 255)
            return say_alert(tls, reason - BWL_SSL_AD_REASON_OFFSET, words, fault);
        if (reason == BWL_SSL_R_UNSUPPORTED_PROTOCOL)
            return say_alert(tls, 70, words, fault);
    }
    if (tls->phase == BWL_TLS_OPEN)
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "the TLS connection broke: %.100s", words);
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "what the server sends violates the TLS protocol: %.100s", words);
}

/* ---- the expected host ----------------------------------------------------------------------- */

/* The characters of a host name; a name with others would match no certificate. */
static bool is_name(const char *host)
{
    static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    /* For OpenSSL, a leading dot means "any host below". */
    return host[0] != '\0' && host[0] != '.' && strspn(host, may) == strlen(host);
}

static bool is_address(const char *host)
{
    struct in6_addr any;

    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

/* A certificate has no final dot, and no zone of an address: fe80::1%eth0. */
static int take_host(bwl_tls *tls, const char *host, bwl_fault *fault)
{
    size_t size = strnlen(host, sizeof tls->host);

    if (size > 0 && size < sizeof tls->host) {
        memcpy(tls->host, host, size + 1);
        if (strchr(tls->host, ':') != NULL)
            tls->host[strcspn(tls->host, "%")] = '\0';
        else if (tls->host[size - 1] == '.')
            tls->host[size - 1] = '\0';
        if (is_address(tls->host) || is_name(tls->host))
            return BWL_OK;
    }
    if (size == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "TLS needs the name of the host, to check its certificate");
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "no certificate can be checked against the host \"%.100s\"", host);
}

static bool require_host(bwl_tls *tls)
{
    const bwl_tls_library       *openssl = tls->openssl;
    struct X509_VERIFY_PARAM_st *demands = openssl->SSL_get0_param(tls->ssl);

    if (is_address(tls->host))
        return openssl->X509_VERIFY_PARAM_set1_ip_asc(demands, tls->host) == 1;
    openssl->X509_VERIFY_PARAM_set_hostflags(demands, BWL_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                          BWL_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    /* The name is also sent (SNI), for servers that have several certificates. */
    return openssl->X509_VERIFY_PARAM_set1_host(demands, tls->host, strlen(tls->host)) == 1 &&
           openssl->SSL_ctrl(tls->ssl, BWL_SSL_CTRL_SET_TLSEXT_HOSTNAME,
                             BWL_TLSEXT_NAMETYPE_host_name, tls->host) == 1;
}

static bool make_session(bwl_tls *tls)
{
    const bwl_tls_library *openssl = tls->openssl;

    tls->ssl = openssl->SSL_new(tls->context->ctx);
    tls->in  = openssl->BIO_new(openssl->BIO_s_mem());
    tls->out = openssl->BIO_new(openssl->BIO_s_mem());
    if (tls->ssl == NULL || tls->in == NULL || tls->out == NULL) {
        (void)openssl->BIO_free(tls->in); /* also NULL */
        (void)openssl->BIO_free(tls->out);
        return false;
    }
    openssl->SSL_set_bio(tls->ssl, tls->in, tls->out);
    openssl->SSL_set_connect_state(tls->ssl);
    return openssl->SSL_set_ex_data(tls->ssl, 0, tls) == 1 && require_host(tls);
}

int bwl_tls_start(bwl_tls **ret_tls, const bwl_tls_context *context, const char *host,
                  bwl_fault *fault)
{
    bwl_tls *tls = calloc(1, sizeof *tls);

    if (tls == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    tls->openssl = context->openssl;
    tls->context = context;
    tls->phase   = BWL_TLS_HANDSHAKING;
    int status   = take_host(tls, host, fault);
    if (status == BWL_OK && !make_session(tls))
        status = bwl_fail(fault, BWL_STATUS_NOMEM, "no memory for a TLS session");
    tls->openssl->ERR_clear_error();
    if (status < 0) {
        bwl_tls_free(tls);
        return status;
    }
    *ret_tls = tls;
    return BWL_OK;
}

void bwl_tls_free(bwl_tls *tls)
{
    if (tls == NULL)
        return;
    tls->openssl->SSL_free(tls->ssl); /* also NULL; in and out go with it */
    free(tls);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static bool is_over(const bwl_tls *tls)
{
    return tls->phase == BWL_TLS_ENDED || tls->phase == BWL_TLS_FAILED;
}

static int repeat_result(const bwl_tls *tls, bwl_fault *fault)
{
    assert(is_over(tls));
    assert(tls->fault.status < 0);
    if (fault != NULL)
        *fault = tls->fault;
    return tls->fault.status;
}

static int end(bwl_tls *tls, bwl_tls_phase phase, bwl_fault *fault)
{
    tls->phase = phase;
    return repeat_result(tls, fault);
}

static size_t pending(const bwl_tls *tls, struct bio_st *bio)
{
    long size = tls->openssl->BIO_ctrl(bio, BWL_BIO_CTRL_PENDING, 0, NULL);

    assert(size >= 0);
    return (size_t)size;
}

/* Maps a failed OpenSSL call to a result; the reason is in OpenSSL's error queue, which the caller
 * clears.  0: the session needs more input. */
static int result_of_error(bwl_tls *tls, int result, bwl_fault *fault)
{
    int           code  = tls->openssl->SSL_get_error(tls->ssl, result);
    unsigned long error = tls->openssl->ERR_peek_error();

    if (code == BWL_SSL_ERROR_WANT_READ || code == BWL_SSL_ERROR_WANT_WRITE) {
        if (!tls->input_ended)
            return BWL_OK;
        (void)say_cut_off(tls, &tls->fault);
        return end(tls, BWL_TLS_FAILED, fault);
    }
    if (code == BWL_SSL_ERROR_ZERO_RETURN) {
        bool opened = tls->phase == BWL_TLS_OPEN;
        (void)bwl_fail(&tls->fault, BWL_STATUS_UNREACHABLE, "the server closed the connection%s",
                       opened ? "" : " during the TLS handshake");
        return end(tls, BWL_TLS_ENDED, fault);
    }
    if (tls->candidate_error.error != 0)
        (void)say_candidate_error(tls, &tls->fault);
    else
        (void)say_error(tls, error, &tls->fault);
    return end(tls, BWL_TLS_FAILED, fault);
}

/* A peer that sends but does not read would fill the output with our replies. */
static int check_bound(bwl_tls *tls, bwl_fault *fault)
{
    if (is_over(tls) || pending(tls, tls->out) <= BWL_TLS_OUT_MAX)
        return BWL_OK;
    (void)bwl_fail(&tls->fault, BWL_STATUS_REFUSED, "the server asks for more than it reads");
    return end(tls, BWL_TLS_FAILED, fault);
}

/* ---- from and to the socket ------------------------------------------------------------------ */

size_t bwl_tls_room(const bwl_tls *tls)
{
    size_t waiting = pending(tls, tls->in);

    return waiting < BWL_TLS_IN_MAX ? BWL_TLS_IN_MAX - waiting : 0;
}

static void note_first(bwl_tls *tls, const char *bytes, size_t size)
{
    size_t room = sizeof tls->first - tls->first_size;
    size_t take = size < room ? size : room;

    memcpy(tls->first + tls->first_size, bytes, take);
    tls->first_size += take;
}

int bwl_tls_feed(bwl_tls *tls, const void *bytes, size_t size, bwl_fault *fault)
{
    assert(!tls->input_ended);
    assert(size <= bwl_tls_room(tls));
    if (is_over(tls))
        return repeat_result(tls, fault);
    if (size == 0)
        return BWL_OK;
    note_first(tls, bytes, size);
    int taken = tls->openssl->BIO_write(tls->in, bytes, (int)size);
    if (taken == (int)size)
        return BWL_OK;
    tls->openssl->ERR_clear_error();
    (void)bwl_fail(&tls->fault, BWL_STATUS_NOMEM, "no memory for what the server sends");
    return end(tls, BWL_TLS_FAILED, fault);
}

void bwl_tls_feed_end(bwl_tls *tls)
{
    tls->input_ended = true;
}

size_t bwl_tls_out(const bwl_tls *tls, const char **ret_bytes)
{
    char *bytes = NULL;
    long  size  = tls->openssl->BIO_ctrl(tls->out, BWL_BIO_CTRL_INFO, 0, &bytes);

    assert(size >= 0);
    *ret_bytes = bytes;
    return (size_t)size;
}

void bwl_tls_sent(bwl_tls *tls, size_t size)
{
    char away[4096];

    assert(size <= pending(tls, tls->out));
    if (size > 0)
        tls->handed_over = tls->written; /* only the last record can be pending: see tls.h */
    while (size > 0) {
        size_t piece = size < sizeof away ? size : sizeof away;
        int    taken = tls->openssl->BIO_read(tls->out, away, (int)piece);
        assert(taken == (int)piece);
        size -= (size_t)taken;
    }
}

/* ---- the handshake --------------------------------------------------------------------------- */

/* OpenSSL has checked this already, if it was configured correctly and there was a certificate. */
static int check_peer(bwl_tls *tls, bwl_fault *fault)
{
    long verdict = tls->openssl->SSL_get_verify_result(tls->ssl);

    if (verdict == BWL_X509_V_OK && tls->openssl->SSL_get0_peer_certificate(tls->ssl) != NULL)
        return BWL_OK;
    (void)bwl_fail(&tls->fault, BWL_STATUS_REFUSED, "the server has not proved its identity: %s",
                   verdict == BWL_X509_V_OK ? "it sent no certificate"
                                            : tls->openssl->X509_verify_cert_error_string(verdict));
    return end(tls, BWL_TLS_FAILED, fault);
}

int bwl_tls_step(bwl_tls *tls, bwl_fault *fault)
{
    int status = BWL_OK;

    if (is_over(tls))
        return repeat_result(tls, fault);
    if (tls->phase == BWL_TLS_OPEN)
        return BWL_OK;
    if (!looks_like_tls(tls)) {
        (void)say_not_tls(tls, &tls->fault);
        return end(tls, BWL_TLS_FAILED, fault);
    }
    tls->openssl->ERR_clear_error();
    int result = tls->openssl->SSL_do_handshake(tls->ssl);
    if (result != 1)
        status = result_of_error(tls, result, fault);
    else if ((status = check_peer(tls, fault)) == BWL_OK)
        tls->phase = BWL_TLS_OPEN;
    tls->openssl->ERR_clear_error();
    return status < 0 ? status : check_bound(tls, fault);
}

bool bwl_tls_is_open(const bwl_tls *tls)
{
    return tls->phase == BWL_TLS_OPEN;
}

/* ---- clear bytes ----------------------------------------------------------------------------- */

ssize_t bwl_tls_read(bwl_tls *tls, char *ret_bytes, size_t room, bwl_fault *fault)
{
    int most = room < BWL_TLS_RECORD_MAX ? (int)room : BWL_TLS_RECORD_MAX;

    assert(room > 0);
    if (is_over(tls))
        return repeat_result(tls, fault);
    if (tls->phase == BWL_TLS_HANDSHAKING)
        return 0;
    tls->openssl->ERR_clear_error();
    int result = tls->openssl->SSL_read(tls->ssl, ret_bytes, most);
    int status = result > 0 ? result : result_of_error(tls, result, fault);
    tls->openssl->ERR_clear_error();
    return status != 0 ? status : check_bound(tls, fault);
}

ssize_t bwl_tls_write(bwl_tls *tls, const char *bytes, size_t size, bwl_fault *fault)
{
    int most = size < BWL_TLS_RECORD_MAX ? (int)size : BWL_TLS_RECORD_MAX;

    if (is_over(tls))
        return repeat_result(tls, fault);
    if (tls->phase == BWL_TLS_HANDSHAKING || most == 0 || pending(tls, tls->out) > 0)
        return 0;
    tls->openssl->ERR_clear_error();
    int result = tls->openssl->SSL_write(tls->ssl, bytes, most);
    int status = result > 0 ? BWL_OK : result_of_error(tls, result, fault);
    tls->openssl->ERR_clear_error();
    if (status < 0)
        return status;
    if (result <= 0)
        return 0;
    assert(result <= most);
    tls->written += (uint64_t)result;
    return result;
}

uint64_t bwl_tls_handed_over(const bwl_tls *tls)
{
    assert(tls->handed_over <= tls->written);
    return tls->handed_over;
}

void bwl_tls_goodbye(bwl_tls *tls)
{
    if (tls->phase != BWL_TLS_OPEN)
        return; /* in a handshake there is nothing to close yet */
    tls->openssl->ERR_clear_error();
    (void)tls->openssl->SSL_shutdown(tls->ssl); /* 0: sent; the peer's alert is not awaited */
    tls->openssl->ERR_clear_error();
    (void)bwl_fail(&tls->fault, BWL_STATUS_UNREACHABLE, "the connection was closed by us");
    tls->phase = BWL_TLS_ENDED;
}
