/*
 * tls_load.c -- OpenSSL is loaded by name when a URL needs it (-Dtls=load).
 */
#include "net/tls/tls_library.h"
#include "base/fault.h"

#include <dlfcn.h>
#include <string.h>

typedef struct wanted {
    const char *name;
    size_t      offset; /* of the pointer to it, in the table */
} wanted;

#define WANTED(type, name, arguments) { #name, offsetof(bwl_tls_library, name) },
static const wanted from_ssl[]    = { BWL_TLS_FUNCTIONS_SSL(WANTED) };
static const wanted from_crypto[] = { BWL_TLS_FUNCTIONS_CRYPTO(WANTED) };
#undef WANTED

_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym finds functions as well as data");

static int missing(bwl_fault *fault, const char *what)
{
    return bwl_fail(
        fault, BWL_STATUS_UNSUPPORTED,
        "TLS needs OpenSSL 3: install the package libssl3 (libssl3t64 since Debian 13); "
        "%.100s",
        what != NULL ? what : "it cannot be loaded");
}

static int load(bwl_tls_library *ret_library, const char *name, const wanted *functions,
                size_t count, bwl_fault *fault)
{
    /* NODELETE: sessions, and thread-local data of OpenSSL, point into it for ever. */
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (handle == NULL)
        return missing(fault, dlerror());
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(handle, functions[i].name);
        if (found == NULL)
            return missing(fault, dlerror());
        memcpy((char *)ret_library + functions[i].offset, &found, sizeof found);
    }
    return BWL_OK;
}

int bwl_tls_library_load(bwl_tls_library *ret_library, const bwl_tls_library_names *names,
                         bwl_fault *fault)
{
    enum { FROM_SSL = sizeof from_ssl / sizeof from_ssl[0] };
    enum { FROM_CRYPTO = sizeof from_crypto / sizeof from_crypto[0] };
    bwl_tls_library library = { 0 };
    int             status  = load(&library, names->crypto, from_crypto, FROM_CRYPTO, fault);

    if (status == BWL_OK)
        status = load(&library, names->ssl, from_ssl, FROM_SSL, fault);
    if (status < 0)
        return status;
    if (library.OpenSSL_version_num() >> 28 != 3)
        return missing(fault, "the installed one has another version");
    if (library.OPENSSL_init_ssl(BWL_OPENSSL_INIT_NO_ATEXIT, NULL) != 1) {
        library.ERR_clear_error();
        return missing(fault, "the installed one cannot be initialised: check openssl.cnf");
    }
    *ret_library = library;
    return BWL_OK;
}
