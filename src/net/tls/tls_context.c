/*
 * tls_context.c -- the files of TLS: trusted authorities, our certificate and key.  See tls.h.
 *
 * The administrator's requirements in openssl.cnf (a higher version, stronger keys) also apply;
 * this file only adds to them.  OpenSSL also reads SSL_CERT_FILE and SSL_CERT_DIR of the
 * environment to find the system's authorities, as in every program.
 */
#include "base/secret.h"
#include "base/fault.h"
#include "base/calls.h"
#include "net/tls/tls_inside.h"
#include "base/trusted_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OpenSSL reports neither the file nor the reason, so the file is opened here first.  OpenSSL opens
 * it again by its name: no other user can have replaced it, because bwl_trusted_check checks its
 * directory too. */
static int check_file(const char *what, const char *name, bwl_trust trust, bwl_fault *fault)
{
    /* A FIFO would block, and can be read only once. */
    int fd = bwl_file_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

    if (fd < 0)
        return bwl_fail_errno(fault, "cannot read the %s %.100s", what, name);
    int status = bwl_trusted_check(fd, what, name, trust, fault);
    (void)close(fd);
    return status;
}

/* A prompt would not be seen, or would block the program. */
static int give_no_passphrase(char *ret_text, int room, int writing, void *arg)
{
    bwl_tls_context *context = arg;

    (void)ret_text;
    (void)room;
    (void)writing;
    context->was_asked_for_passphrase = true;
    return -1;
}

/* Why OpenSSL rejected a file. */
static int unusable(const bwl_tls_context *context, const char *what, const char *name,
                    bwl_fault *fault)
{
    unsigned long error = context->openssl->ERR_peek_error();
    const char   *why   = context->openssl->ERR_reason_error_string(error);

    context->openssl->ERR_clear_error();
    if (error == 0 || (bwl_tls_error_library(error) == BWL_ERR_LIB_PEM &&
                       bwl_tls_error_reason(error) == BWL_PEM_R_NO_START_LINE))
        why = "there is nothing in PEM form in it";
    return bwl_fail(fault, BWL_STATUS_REFUSED, "cannot use the %s %.100s: %.80s", what, name,
                    why != NULL ? why : "OpenSSL does not say why");
}

static int take_authorities(bwl_tls_context *context, const char *name, bwl_fault *fault)
{
    static const char what[] = "CA file";

    if (name == NULL) {
        if (context->openssl->SSL_CTX_set_default_verify_paths(context->ctx) == 1)
            return BWL_OK;
        return unusable(context, what, "of this system", fault);
    }
    int status = check_file(what, name, BWL_TRUST_STEERS, fault);
    if (status < 0)
        return status;
    status = bwl_copy(&context->ca_file, name, fault);
    if (status < 0)
        return status;
    if (context->openssl->SSL_CTX_load_verify_locations(context->ctx, name, NULL) != 1)
        return unusable(context, what, name, fault);
    return BWL_OK;
}

static int take_key(bwl_tls_context *context, const bwl_tls_options *options, bwl_fault *fault)
{
    const bwl_tls_library *openssl = context->openssl;
    const char *name   = options->key_file != NULL ? options->key_file : options->cert_file;
    int         status = check_file("key file", name, BWL_TRUST_KEY, fault);

    if (status < 0)
        return status;
    if (openssl->SSL_CTX_use_PrivateKey_file(context->ctx, name, BWL_SSL_FILETYPE_PEM) == 1)
        return BWL_OK;
    unsigned long error  = openssl->ERR_peek_error();
    int           reason = bwl_tls_error_reason(error);
    if (context->was_asked_for_passphrase) {
        openssl->ERR_clear_error();
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the key file %.100s has a passphrase: use a key without one", name);
    }
    if (bwl_tls_error_library(error) == BWL_ERR_LIB_X509 &&
        (reason == BWL_X509_R_KEY_VALUES_MISMATCH || reason == BWL_X509_R_KEY_TYPE_MISMATCH)) {
        openssl->ERR_clear_error();
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "the key in %.90s does not belong to the certificate in %.90s", name,
                        options->cert_file);
    }
    return unusable(context, "key file", name, fault);
}

static int take_identity(bwl_tls_context *context, const bwl_tls_options *options, bwl_fault *fault)
{
    static const char what[] = "certificate file";

    if (options->cert_file == NULL && options->key_file == NULL)
        return BWL_OK;
    if (options->cert_file == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "there is a key (%s=) and no certificate that it belongs to (%s=)",
                        BWL_TLS_OPTION_KEY, BWL_TLS_OPTION_CERT);
    int status = check_file(what, options->cert_file, BWL_TRUST_STEERS, fault);
    if (status < 0)
        return status;
    if (context->openssl->SSL_CTX_use_certificate_chain_file(context->ctx, options->cert_file) != 1)
        return unusable(context, what, options->cert_file, fault);
    context->has_certificate = true;
    return take_key(context, options, fault);
}

static int demand(bwl_tls_context *context, bwl_fault *fault)
{
    const bwl_tls_library *openssl = context->openssl;
    struct ssl_ctx_st     *ctx     = context->ctx;
    long least = openssl->SSL_CTX_ctrl(ctx, BWL_SSL_CTRL_GET_MIN_PROTO_VERSION, 0, NULL);

    if (least < BWL_TLS1_2_VERSION && openssl->SSL_CTX_ctrl(ctx, BWL_SSL_CTRL_SET_MIN_PROTO_VERSION,
                                                            BWL_TLS1_2_VERSION, NULL) != 1)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED, "this OpenSSL has no TLS 1.2");
    (void)openssl->SSL_CTX_set_options(ctx,
                                       BWL_SSL_OP_NO_COMPRESSION | BWL_SSL_OP_NO_RENEGOTIATION);
    (void)openssl->SSL_CTX_ctrl(
        ctx, BWL_SSL_CTRL_MODE,
        BWL_SSL_MODE_ENABLE_PARTIAL_WRITE | BWL_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
    openssl->SSL_CTX_set_verify(ctx, BWL_SSL_VERIFY_PEER, bwl_tls_note_candidate_error);
    openssl->SSL_CTX_set_default_passwd_cb(ctx, give_no_passphrase);
    openssl->SSL_CTX_set_default_passwd_cb_userdata(ctx, context);
    return BWL_OK;
}

int bwl_tls_context_new(bwl_tls_context **ret_context, const bwl_tls_options *options,
                        bwl_fault *fault)
{
    const bwl_tls_library *openssl = bwl_tls_library_get(fault);
    int                    status;

    if (openssl == NULL)
        return BWL_STATUS_UNSUPPORTED;
    bwl_tls_context *context = calloc(1, sizeof *context);
    if (context == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    openssl->ERR_clear_error(); /* stale entries would be taken for the reason */
    context->openssl = openssl;
    context->ctx     = openssl->SSL_CTX_new(openssl->TLS_client_method());
    if (context->ctx == NULL)
        status = bwl_fail(fault, BWL_STATUS_NOMEM, "no memory for TLS");
    else if ((status = demand(context, fault)) == BWL_OK &&
             (status = take_authorities(context, options->ca_file, fault)) == BWL_OK)
        status = take_identity(context, options, fault);
    openssl->ERR_clear_error();
    if (status < 0) {
        bwl_tls_context_free(context);
        return status;
    }
    *ret_context = context;
    return BWL_OK;
}

void bwl_tls_context_free(bwl_tls_context *context)
{
    if (context == NULL)
        return;
    context->openssl->SSL_CTX_free(context->ctx); /* also NULL */
    free(context->ca_file);
    free(context);
}
