/*
 * nested.c -- the environment variable BOWLINE_HELD, and the hash of a lock in it.
 */
#include "cli/run/nested.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/child.h"
#include "cli/text/url.h"

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3U;
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix(hash, text, strlen(text) + 1);
}

/* Only these options of a URL change which key a name means. */
static uint64_t mix_options(uint64_t hash, const char *url)
{
    static const char *const keys[] = { "key=", "profile=" };
    const char              *option = url + strcspn(url, "?");

    while (*option != '\0') {
        size_t size = strcspn(++option, "&");
        for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
            if (strncmp(option, keys[i], strlen(keys[i])) == 0)
                hash = mix(hash, option, size);
        option += size;
    }
    return hash;
}

uint64_t nested_lock(const char *url, const char *name)
{
    char        where[URL_MAX + 1], directory[4096];
    const char *slashes = strstr(url, "://");
    uint64_t    hash    = 0xcbf29ce484222325U;

    assert(strlen(url) <= URL_MAX);
    (void)snprintf(where, sizeof where, "%.*s", (int)strcspn(url, "?"), url);
    const char *host = where; /* without a user */
    if (slashes != NULL) {
        hash = mix(hash, where, (size_t)(slashes - url));
        host = strrchr(where, '@');
        host = host != NULL ? host + 1 : where + (slashes - url) + strlen("://");
    }
    hash = mix_text(hash, host);
    hash = mix_options(hash, url);
    if (strncmp(url, "file:", 5) == 0) {
        uid_t user = geteuid();
        hash       = mix(hash, (const char *)&user, sizeof user);
        if (strchr(name, '/') != NULL && name[0] != '/' &&
            getcwd(directory, sizeof directory) != NULL)
            hash = mix_text(hash, directory);
    }
    return mix_text(hash, name);
}

pid_t nested_holder(uint64_t lock)
{
    const char *held = getenv(NESTED_VARIABLE);

    while (held != NULL && *held != '\0') {
        uint64_t           which;
        int                pid;
        unsigned long long started;
        if (sscanf(held, "%16" SCNx64 "-%d-%llu", &which, &pid, &started) == 3 && which == lock &&
            pid > 1 && family_is_alive(pid, started))
            return pid;
        held += strcspn(held, " ");
        held += strspn(held, " ");
    }
    return 0;
}

bool nested_value(char ret_value[NESTED_VALUE_MAX], uint64_t lock)
{
    const char        *before  = getenv(NESTED_VARIABLE);
    unsigned long long started = family_started(getpid());

    if (started == 0)
        return false;
    /* Older entries that do not fit are dropped: a nested wait for their locks is then not
     * detected. */
    if (before == NULL || strlen(before) + 64 > NESTED_VALUE_MAX)
        before = "";
    (void)snprintf(ret_value, NESTED_VALUE_MAX, "%s%s%016" PRIx64 "-%d-%llu", before,
                   before[0] != '\0' ? " " : "", lock, (int)getpid(), started);
    return true;
}

bool nested_export(uint64_t lock)
{
    char value[NESTED_VALUE_MAX];

    return !nested_value(value, lock) || setenv(NESTED_VARIABLE, value, 1) == 0;
}
