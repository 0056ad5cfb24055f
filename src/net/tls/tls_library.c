#include "net/tls/tls_library.h"

#include <pthread.h>

/* pthread_once and not a mutex: a child that was forked while another thread was loading starts
 * again, and does not wait for a thread that it does not have. */
static pthread_once_t  once = PTHREAD_ONCE_INIT;
static bwl_tls_library the_library;
static bwl_fault       the_fault; /* status 0: none */

static void load_it(void)
{
    static const bwl_tls_library_names names = { .ssl = "libssl.so.3", .crypto = "libcrypto.so.3" };

    (void)bwl_tls_library_load(&the_library, &names, &the_fault); /* the_fault has the result */
}

const bwl_tls_library *bwl_tls_library_get(bwl_fault *fault)
{
    (void)pthread_once(&once, load_it); /* fails only for an uninitialised `once` */
    if (the_fault.status == BWL_OK)
        return &the_library;
    if (fault != NULL)
        *fault = the_fault;
    return NULL;
}
