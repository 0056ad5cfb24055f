/*
 * tls_library.h -- OpenSSL 3, loaded when the first TLS connection is needed.
 *
 * A program that locks only on this machine, or connects in clear text, neither needs OpenSSL nor
 * waits for the linker to load it.  So nothing is linked: the two libraries are opened by name
 * (dlopen), and their functions are kept in one table.  It is filled once per process and never
 * emptied; a program that uses OpenSSL 3 itself shares the same libraries.
 *
 * The functions are declared here and not in OpenSSL's headers, so that a machine without
 * libssl-dev builds the same library.  That is safe because only the stable ABI of libssl.so.3 is
 * used: functions, numbers, and opaque pointers.  tests/unit/test_tls_library.c compares every
 * declaration and every number with the headers.
 *
 * OpenSSL is initialised without a clean-up at exit: the renewal thread may still be inside it
 * while another thread calls exit(), and would crash.
 */
#pragma once

#include "core/status.h"

#include <time.h>

/* OpenSSL's names of its opaque types. */
struct asn1_string_st;
struct bio_method_st;
struct bio_st;
struct ossl_init_settings_st;
struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;
struct stack_st;
struct stack_st_X509_NAME;
struct x509_st;
struct x509_store_ctx_st;
struct GENERAL_NAME_st;
struct stack_st_GENERAL_NAME;
struct X509_name_st;
struct X509_VERIFY_PARAM_st;

typedef int bwl_tls_verify(int preverified, struct x509_store_ctx_st *chain);
typedef int bwl_tls_passphrase(char *ret_text, int room, int writing, void *arg);

/* clang-format off */
#define BWL_TLS_FUNCTIONS_SSL(X)                                                                   \
    X(int, OPENSSL_init_ssl, (uint64_t, const struct ossl_init_settings_st *))                     \
    X(const struct ssl_method_st *, TLS_client_method, (void))                                     \
    X(struct ssl_ctx_st *, SSL_CTX_new, (const struct ssl_method_st *))                            \
    X(void, SSL_CTX_free, (struct ssl_ctx_st *))                                                   \
    X(long, SSL_CTX_ctrl, (struct ssl_ctx_st *, int, long, void *))                                \
    X(uint64_t, SSL_CTX_set_options, (struct ssl_ctx_st *, uint64_t))                              \
    X(void, SSL_CTX_set_verify, (struct ssl_ctx_st *, int, bwl_tls_verify *))                      \
    X(int, SSL_CTX_set_default_verify_paths, (struct ssl_ctx_st *))                                \
    X(int, SSL_CTX_load_verify_locations, (struct ssl_ctx_st *, const char *, const char *))       \
    X(int, SSL_CTX_use_certificate_chain_file, (struct ssl_ctx_st *, const char *))                \
    X(int, SSL_CTX_use_PrivateKey_file, (struct ssl_ctx_st *, const char *, int))                  \
    X(void, SSL_CTX_set_default_passwd_cb, (struct ssl_ctx_st *, bwl_tls_passphrase *))            \
    X(void, SSL_CTX_set_default_passwd_cb_userdata, (struct ssl_ctx_st *, void *))                 \
    X(struct ssl_st *, SSL_new, (struct ssl_ctx_st *))                                             \
    X(void, SSL_free, (struct ssl_st *))                                                           \
    X(void, SSL_set_bio, (struct ssl_st *, struct bio_st *, struct bio_st *))                      \
    X(void, SSL_set_connect_state, (struct ssl_st *))                                              \
    X(long, SSL_ctrl, (struct ssl_st *, int, long, void *))                                        \
    X(struct X509_VERIFY_PARAM_st *, SSL_get0_param, (struct ssl_st *))                            \
    X(int, SSL_set_ex_data, (struct ssl_st *, int, void *))                                        \
    X(void *, SSL_get_ex_data, (const struct ssl_st *, int))                                       \
    X(int, SSL_get_ex_data_X509_STORE_CTX_idx, (void))                                             \
    X(int, SSL_do_handshake, (struct ssl_st *))                                                    \
    X(int, SSL_read, (struct ssl_st *, void *, int))                                               \
    X(int, SSL_write, (struct ssl_st *, const void *, int))                                        \
    X(int, SSL_shutdown, (struct ssl_st *))                                                        \
    X(int, SSL_get_error, (const struct ssl_st *, int))                                            \
    X(long, SSL_get_verify_result, (const struct ssl_st *))                                        \
    X(struct x509_st *, SSL_get0_peer_certificate, (const struct ssl_st *))                        \
    X(const struct stack_st_X509_NAME *, SSL_get0_peer_CA_list, (const struct ssl_st *))

#define BWL_TLS_FUNCTIONS_CRYPTO(X)                                                                \
    X(unsigned long, OpenSSL_version_num, (void))                                                  \
    X(void, ERR_clear_error, (void))                                                               \
    X(unsigned long, ERR_peek_error, (void))                                                       \
    X(const char *, ERR_reason_error_string, (unsigned long))                                      \
    X(const struct bio_method_st *, BIO_s_mem, (void))                                             \
    X(struct bio_st *, BIO_new, (const struct bio_method_st *))                                    \
    X(int, BIO_free, (struct bio_st *))                                                            \
    X(int, BIO_read, (struct bio_st *, void *, int))                                               \
    X(int, BIO_write, (struct bio_st *, const void *, int))                                        \
    X(long, BIO_ctrl, (struct bio_st *, int, long, void *))                                        \
    X(int, X509_VERIFY_PARAM_set1_host, (struct X509_VERIFY_PARAM_st *, const char *, size_t))     \
    X(int, X509_VERIFY_PARAM_set1_ip_asc, (struct X509_VERIFY_PARAM_st *, const char *))           \
    X(void, X509_VERIFY_PARAM_set_hostflags, (struct X509_VERIFY_PARAM_st *, unsigned))            \
    X(int, X509_STORE_CTX_get_error, (const struct x509_store_ctx_st *))                           \
    X(int, X509_STORE_CTX_get_error_depth, (const struct x509_store_ctx_st *))                     \
    X(struct x509_st *, X509_STORE_CTX_get_current_cert, (const struct x509_store_ctx_st *))       \
    X(struct x509_st *, X509_STORE_CTX_get0_cert, (const struct x509_store_ctx_st *))              \
    X(void *, X509_STORE_CTX_get_ex_data, (const struct x509_store_ctx_st *, int))                 \
    X(const char *, X509_verify_cert_error_string, (long))                                         \
    X(void *, X509_get_ext_d2i, (const struct x509_st *, int, int *, int *))                       \
    X(struct X509_name_st *, X509_get_issuer_name, (const struct x509_st *))                       \
    X(int, X509_NAME_get_text_by_NID, (const struct X509_name_st *, int, char *, int))             \
    X(const struct asn1_string_st *, X509_get0_notBefore, (const struct x509_st *))                \
    X(const struct asn1_string_st *, X509_get0_notAfter, (const struct x509_st *))                 \
    X(int, ASN1_TIME_to_tm, (const struct asn1_string_st *, struct tm *))                          \
    X(int, ASN1_STRING_length, (const struct asn1_string_st *))                                    \
    X(const unsigned char *, ASN1_STRING_get0_data, (const struct asn1_string_st *))               \
    X(void *, GENERAL_NAME_get0_value, (const struct GENERAL_NAME_st *, int *))                    \
    X(void, GENERAL_NAMES_free, (struct stack_st_GENERAL_NAME *))                                  \
    X(int, OPENSSL_sk_num, (const struct stack_st *))                                              \
    X(void *, OPENSSL_sk_value, (const struct stack_st *, int))
/* clang-format on */

/* The functions, under OpenSSL's names. */
typedef struct bwl_tls_library {
#define BWL_TLS_MEMBER(type, name, arguments) type(*name) arguments;
    BWL_TLS_FUNCTIONS_SSL(BWL_TLS_MEMBER)
    BWL_TLS_FUNCTIONS_CRYPTO(BWL_TLS_MEMBER)
#undef BWL_TLS_MEMBER
} bwl_tls_library;

/* Numbers from OpenSSL's headers, under their names there with the prefix BWL_. */
enum {
    BWL_SSL_ERROR_WANT_READ   = 2,
    BWL_SSL_ERROR_WANT_WRITE  = 3,
    BWL_SSL_ERROR_ZERO_RETURN = 6,

    BWL_SSL_FILETYPE_PEM                    = 1,
    BWL_SSL_VERIFY_PEER                     = 1,
    BWL_SSL_MODE_ENABLE_PARTIAL_WRITE       = 1,
    BWL_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER = 2,
    BWL_SSL_CTRL_MODE                       = 33,
    BWL_SSL_CTRL_SET_TLSEXT_HOSTNAME        = 55,
    BWL_TLSEXT_NAMETYPE_host_name           = 0,
    BWL_SSL_CTRL_SET_MIN_PROTO_VERSION      = 123,
    BWL_SSL_CTRL_GET_MIN_PROTO_VERSION      = 130,
    BWL_TLS1_2_VERSION                      = 0x0303,
    BWL_SSL_OP_NO_COMPRESSION               = 1 << 17,
    BWL_SSL_OP_NO_RENEGOTIATION             = 1 << 30,
    BWL_OPENSSL_INIT_NO_ATEXIT              = 0x00080000,

    BWL_BIO_CTRL_INFO    = 3,
    BWL_BIO_CTRL_PENDING = 10,

    BWL_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS = 0x4,
    BWL_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT  = 0x20,
    BWL_NID_commonName                       = 13,
    BWL_NID_subject_alt_name                 = 85,
    BWL_GEN_DNS                              = 2,
    BWL_GEN_IPADD                            = 7,

    BWL_X509_V_OK                                    = 0,
    BWL_X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT         = 2,
    BWL_X509_V_ERR_CERT_NOT_YET_VALID                = 9,
    BWL_X509_V_ERR_CERT_HAS_EXPIRED                  = 10,
    BWL_X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT       = 18,
    BWL_X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN         = 19,
    BWL_X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY = 20,
    BWL_X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE   = 21,
    BWL_X509_V_ERR_INVALID_PURPOSE                   = 26,
    BWL_X509_V_ERR_HOSTNAME_MISMATCH                 = 62,
    BWL_X509_V_ERR_IP_ADDRESS_MISMATCH               = 64,

    BWL_ERR_LIB_PEM                = 9,
    BWL_PEM_R_NO_START_LINE        = 108,
    BWL_ERR_LIB_X509               = 11,
    BWL_X509_R_KEY_TYPE_MISMATCH   = 115,
    BWL_X509_R_KEY_VALUES_MISMATCH = 116,
    BWL_ERR_LIB_SSL                = 20,
    BWL_SSL_R_UNSUPPORTED_PROTOCOL = 258,
    BWL_SSL_AD_REASON_OFFSET       = 1000, /* an alert that came is this and its number */
};

/* What a number of the error queue is made of (ERR_GET_LIB and ERR_GET_REASON). */
static inline int bwl_tls_error_library(unsigned long error)
{
    return (int)((error >> 23) & 0xff);
}

static inline int bwl_tls_error_reason(unsigned long error)
{
    return (int)(error & 0x7fffff);
}

/* The table of this process, loaded at the first call; lives for ever.  NULL: UNSUPPORTED; the
 * fault names the missing package.  Any thread. */
const bwl_tls_library *bwl_tls_library_get(bwl_fault *fault);

typedef struct bwl_tls_library_names {
    const char *ssl;
    const char *crypto;
} bwl_tls_library_names;

/* Fills a table from the libraries of these names, which stay loaded.  UNSUPPORTED.  What
 * bwl_tls_library_get does once, with the right names.  The build chooses the code: -Dtls=load is
 * tls_load.c; with tls_link.c OpenSSL is linked, and with tls_none.c it is always UNSUPPORTED:
 * neither uses the names. */
int bwl_tls_library_load(bwl_tls_library *ret_library, const bwl_tls_library_names *names,
                         bwl_fault *fault);
