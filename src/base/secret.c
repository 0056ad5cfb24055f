#include "base/secret.h"

#include "base/fault.h"
#include "base/calls.h"
#include "base/trusted_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PASSWORD_MAX = 4096, PART_SIZE = 3 };

int bwl_secret_read(char **ret_secret, const char *name, bwl_fault *fault)
{
    char    text[PASSWORD_MAX + 1];
    ssize_t size = -1;
    /* A FIFO would block the caller. */
    int fd = bwl_file_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

    if (fd < 0)
        return bwl_fail_errno(fault, "cannot open the password file %.100s", name);
    int status = bwl_trusted_check(fd, "password file", name, BWL_TRUST_SECRET, fault);
    if (status < 0)
        goto out;
    size = bwl_file_read_at(fd, text, PASSWORD_MAX, 0);
    if (size < 0) {
        status = bwl_fail_errno(fault, "cannot read the password file %.100s", name);
        goto out;
    }
    text[size]                  = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (text[0] == '\0' || size == PASSWORD_MAX)
        status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "the first line of the password file %.100s is empty or too long", name);
    else
        status = bwl_copy(ret_secret, text, fault);
out:
    explicit_bzero(text, sizeof text);
    (void)close(fd);
    return status;
}

bool bwl_secret_is_in(const char *secret, const char *bytes, size_t size)
{
    return secret != NULL && secret[0] != '\0' &&
           memmem(bytes, size, secret, strlen(secret)) != NULL;
}

bool bwl_secret_part_is_in(const char *secret, const char *bytes, size_t size)
{
    size_t length = secret != NULL ? strlen(secret) : 0;
    size_t part   = length < PART_SIZE ? length : PART_SIZE;

    for (size_t i = 0; part > 0 && i + part <= length; i++)
        for (size_t j = 0; j + part <= size; j++)
            if (strncasecmp(bytes + j, secret + i, part) == 0)
                return true;
    return false;
}

void bwl_secret_free(char *secret)
{
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

int bwl_copy(char **ret_copy, const char *text, bwl_fault *fault)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    *ret_copy = copy;
    return BWL_OK;
}

char *bwl_copy_of(const char *text, bool *all)
{
    char *copy = text != NULL ? strdup(text) : NULL;

    *all = *all && (text == NULL || copy != NULL);
    return copy;
}
