/*
 * certs.c -- see certs.h.
 */
#include "tests/lib/certs.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

bool certs_possible(void)
{
    return system("openssl version >/dev/null 2>&1") == 0;
}

const char *certs_path(const char *directory, const char *name)
{
    static char     paths[8][160];
    static unsigned next;
    char           *path = paths[next++ % 8];

    (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void run(const char *directory, const char *command)
{
    char whole[1400];

    (void)snprintf(whole, sizeof whole, "umask 022 && cd %s && (%s) >certs.log 2>&1", directory,
                   command);
    if (system(whole) != 0)
        fail_msg("this failed, see %s/certs.log: %s", directory, command);
}

void certs_make(const char *directory, const cert *what)
{
    char command[1200];
    char extensions[300];
    char signer[200] = "";
    /* OpenSSL 3.5 rejects a negative number of days, and versions before 3.4 have no dates. */
    const char *days = what->is_old
                           ? "$(openssl x509 -help 2>&1 | grep -q not_after && echo -not_before "
                             "20200101000000Z -not_after 20200102000000Z || echo -days -1)"
                           : "-days 30";

    (void)snprintf(extensions, sizeof extensions, "basicConstraints=critical,CA:%s%s%s",
                   what->is_authority ? "TRUE" : "FALSE",
                   what->hosts != NULL ? "\\nsubjectAltName=" : "",
                   what->hosts != NULL ? what->hosts : "");
    if (what->issuer != NULL)
        (void)snprintf(signer, sizeof signer, "-CA %s.pem -CAkey %s.key -CAcreateserial",
                       what->issuer, what->issuer);
    else
        (void)snprintf(signer, sizeof signer, "-signkey %s.key", what->name);
    (void)snprintf(command, sizeof command,
                   "openssl ecparam -name prime256v1 -genkey -noout -out %s.key && "
                   "openssl req -new -key %s.key -subj '/CN=%s' -out %s.csr && "
                   "printf '%s\\n' >%s.ext && "
                   "openssl x509 -req -in %s.csr %s %s -extfile %s.ext -out %s.pem && "
                   "chmod 600 %s.key",
                   what->name, what->name, what->name, what->name, extensions, what->name,
                   what->name, signer, days, what->name, what->name, what->name);
    run(directory, command);
}
