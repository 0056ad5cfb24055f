/*
 * tls_link.c -- OpenSSL is linked with the library (-Dtls=link): for a static binary, which cannot
 * load anything.  The build needs OpenSSL's archives; it needs no headers here either.
 */
#include "net/tls/tls_library.h"
#include "base/fault.h"

#define DECLARE(type, name, arguments) extern type name arguments;
BWL_TLS_FUNCTIONS_SSL(DECLARE)
BWL_TLS_FUNCTIONS_CRYPTO(DECLARE)
#undef DECLARE

int bwl_tls_library_load(bwl_tls_library *ret_library, const bwl_tls_library_names *names,
                         bwl_fault *fault)
{
    (void)names; /* of files; there are none */
    if (OPENSSL_init_ssl(BWL_OPENSSL_INIT_NO_ATEXIT, NULL) != 1) {
        ERR_clear_error();
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                        "OpenSSL cannot be initialised: check openssl.cnf");
    }
#define LINKED(type, name, arguments) .name = name,
    *ret_library =
        (bwl_tls_library){ BWL_TLS_FUNCTIONS_SSL(LINKED) BWL_TLS_FUNCTIONS_CRYPTO(LINKED) };
#undef LINKED
    return BWL_OK;
}
