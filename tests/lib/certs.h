/*
 * certs.h -- certificates of all kinds, made with openssl(1) for the day on which the test runs.
 *
 * They go into a directory of the test's choice: NAME.pem is the certificate, NAME.key its key.
 */
#ifndef TEST_CERTS_H
#define TEST_CERTS_H

#include <stdbool.h>

/* Is there an openssl(1)? */
bool certs_possible(void);

typedef struct cert {
    const char *name;   /* of the files; and its common name                                    */
    const char *issuer; /* name of an authority made before; NULL: itself                       */
    const char *hosts;  /* "DNS:localhost,IP:127.0.0.1"; NULL: none                             */
    bool        is_authority;
    bool        is_old; /* it ended yesterday                                                   */
} cert;

/* Fails the test if that does not succeed. */
void certs_make(const char *directory, const cert *what);

/* "DIRECTORY/NAME"; lives until seven more were asked for. */
const char *certs_path(const char *directory, const char *name);

#endif
