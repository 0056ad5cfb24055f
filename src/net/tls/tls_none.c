/*
 * tls_none.c -- there is no TLS in this build (-Dtls=none).
 */
#include "net/tls/tls_library.h"
#include "base/fault.h"

int bwl_tls_library_load(bwl_tls_library *ret_library, const bwl_tls_library_names *names,
                         bwl_fault *fault)
{
    (void)ret_library;
    (void)names;
    return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                    "this bowline was built without TLS: use the one that \"make static\" or "
                    "\"make\" builds, or a URL without TLS");
}
