/*
 * certs.h -- certificates of all kinds, made with openssl(1) for the day of the test.
 *
 * They are in a directory that the test chooses: NAME.pem is the certificate, NAME.key its key.
 */
#pragma once

#include <stdbool.h>

/* Whether openssl(1) exists. */
bool certs_possible(void);

typedef struct cert {
    const char *name;   /* of the files; also the common name               */
    const char *issuer; /* name of an existing authority; NULL: self-signed */
    const char *hosts;  /* "DNS:localhost,IP:127.0.0.1"; NULL: none         */
    bool        is_authority;
    bool        is_old; /* expired yesterday */
} cert;

/* Fails the test on an error. */
void certs_make(const char *directory, const cert *what);

/* "DIRECTORY/NAME"; lives until seven more calls. */
const char *certs_path(const char *directory, const char *name);
