/*
 * tls.c -- one session.  See tls.h.
 *
 * OpenSSL reads from and writes to memory (memory BIOs), so the only reason to wait is "more input
 * from the peer".  Its error queue belongs to the thread, not to the session, and a stale entry
 * would be taken for our error: it is cleared before and after every step.
 */
#include "base/fault.h"
#include "net/tls/tls_inside.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

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
        (void)bwl_tls_say_cut_off(tls, &tls->fault);
        return end(tls, BWL_TLS_FAILED, fault);
    }
    if (code == BWL_SSL_ERROR_ZERO_RETURN) {
        bool opened = tls->phase == BWL_TLS_OPEN;
        (void)bwl_fail(&tls->fault, BWL_STATUS_UNREACHABLE, "the server closed the connection%s",
                       opened ? "" : " during the TLS handshake");
        return end(tls, BWL_TLS_ENDED, fault);
    }
    if (tls->doubt.error != 0)
        (void)bwl_tls_set_candidate_error(tls, &tls->fault);
    else
        (void)bwl_tls_say_error(tls, error, &tls->fault);
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
    if (!bwl_tls_looks_like_tls(tls)) {
        (void)bwl_tls_say_not_tls(tls, &tls->fault);
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
