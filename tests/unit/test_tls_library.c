/*
 * test_tls_library.c -- our declarations of OpenSSL agree with its headers; missing library.
 */
#include "net/tls/tls_library.h"
#include "tests/lib/suite.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>

/* ---- checked by the compiler ----------------------------------------------------------------- */

#define SAME_FUNCTION(type, name, arguments)                                                       \
    _Static_assert(                                                                                \
        __builtin_types_compatible_p(__typeof__(&name), __typeof__(((bwl_tls_library *)0)->name)), \
        "OpenSSL declares " #name " in another way");
BWL_TLS_FUNCTIONS_SSL(SAME_FUNCTION)
BWL_TLS_FUNCTIONS_CRYPTO(SAME_FUNCTION)

#define SAME_NUMBER(name) \
    _Static_assert((long long)(name) == (long long)BWL_##name, "OpenSSL's " #name " is another")
SAME_NUMBER(SSL_ERROR_WANT_READ);
SAME_NUMBER(SSL_ERROR_WANT_WRITE);
SAME_NUMBER(SSL_ERROR_ZERO_RETURN);
SAME_NUMBER(SSL_FILETYPE_PEM);
SAME_NUMBER(SSL_VERIFY_PEER);
SAME_NUMBER(SSL_MODE_ENABLE_PARTIAL_WRITE);
SAME_NUMBER(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
SAME_NUMBER(SSL_CTRL_MODE);
SAME_NUMBER(SSL_CTRL_SET_TLSEXT_HOSTNAME);
SAME_NUMBER(TLSEXT_NAMETYPE_host_name);
SAME_NUMBER(SSL_CTRL_SET_MIN_PROTO_VERSION);
SAME_NUMBER(SSL_CTRL_GET_MIN_PROTO_VERSION);
SAME_NUMBER(TLS1_2_VERSION);
SAME_NUMBER(SSL_OP_NO_COMPRESSION);
SAME_NUMBER(SSL_OP_NO_RENEGOTIATION);
SAME_NUMBER(OPENSSL_INIT_NO_ATEXIT);
SAME_NUMBER(BIO_CTRL_INFO);
SAME_NUMBER(BIO_CTRL_PENDING);
SAME_NUMBER(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
SAME_NUMBER(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
SAME_NUMBER(NID_commonName);
SAME_NUMBER(NID_subject_alt_name);
SAME_NUMBER(GEN_DNS);
SAME_NUMBER(GEN_IPADD);
SAME_NUMBER(X509_V_OK);
SAME_NUMBER(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT);
SAME_NUMBER(X509_V_ERR_CERT_NOT_YET_VALID);
SAME_NUMBER(X509_V_ERR_CERT_HAS_EXPIRED);
SAME_NUMBER(X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
SAME_NUMBER(X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
SAME_NUMBER(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
SAME_NUMBER(X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE);
SAME_NUMBER(X509_V_ERR_INVALID_PURPOSE);
SAME_NUMBER(X509_V_ERR_HOSTNAME_MISMATCH);
SAME_NUMBER(X509_V_ERR_IP_ADDRESS_MISMATCH);
SAME_NUMBER(ERR_LIB_PEM);
SAME_NUMBER(PEM_R_NO_START_LINE);
SAME_NUMBER(ERR_LIB_X509);
SAME_NUMBER(X509_R_KEY_TYPE_MISMATCH);
SAME_NUMBER(X509_R_KEY_VALUES_MISMATCH);
SAME_NUMBER(ERR_LIB_SSL);
SAME_NUMBER(SSL_R_UNSUPPORTED_PROTOCOL);
SAME_NUMBER(SSL_AD_REASON_OFFSET);

TEST(library_error_numbers_are_decoded_as_openssl_does)
{
    unsigned long error = ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNSUPPORTED_PROTOCOL);

    assert_int_equal(bwl_tls_error_library(error), ERR_GET_LIB(error));
    assert_int_equal(bwl_tls_error_reason(error), ERR_GET_REASON(error));
}

/* ---- loading --------------------------------------------------------------------------------- */

static void *get(void *arg)
{
    return (void *)(uintptr_t)bwl_tls_library_get(NULL);
}

TEST(library_is_the_same_for_every_thread)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get, NULL), 0);
    const void *here = bwl_tls_library_get(NULL);
    assert_non_null(here);
    for (int i = 0; i < THREADS; i++) {
        void *there;
        assert_int_equal(pthread_join(threads[i], &there), 0);
        assert_ptr_equal(here, there);
    }
}

TEST(library_every_function_is_found)
{
    const bwl_tls_library *library = bwl_tls_library_get(NULL);

    assert_non_null(library);
#define FOUND(type, name, arguments) assert_true(library->name != NULL);
    BWL_TLS_FUNCTIONS_SSL(FOUND)
    BWL_TLS_FUNCTIONS_CRYPTO(FOUND)
    assert_int_equal(library->OpenSSL_version_num() >> 28, 3);
}

TEST(missing_library_error_names_the_package)
{
    static const bwl_tls_library_names cases[] = {
        { .ssl = "libssl.so.3", .crypto = "libcrypto.so.0.no" },
        { .ssl = "libssl.so.0.no", .crypto = "libcrypto.so.3" },
        { .ssl = "libc.so.6", .crypto = "libcrypto.so.3" }, /* another library of that name */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bwl_tls_library library = { 0 };
        bwl_fault       fault   = { 0 };
        assert_int_equal(bwl_tls_library_load(&library, &cases[i], &fault), BWL_STATUS_UNSUPPORTED);
        assert_int_equal(fault.status, BWL_STATUS_UNSUPPORTED);
        assert_non_null(strstr(fault.text, "libssl3"));
        assert_non_null(strstr(fault.text, i == 2 ? "undefined symbol" : ".so.0.no"));
        assert_true(library.SSL_new == NULL && library.ERR_clear_error == NULL); /* no parts */
    }
    assert_int_equal(bwl_tls_library_load(&(bwl_tls_library){ 0 }, &cases[0], NULL),
                     BWL_STATUS_UNSUPPORTED);
}
