/*
 * url.c -- finds secrets in a URL.  In doubt it treats a text as a secret.
 *
 * A password that is not percent-encoded may contain '/', '@' or '?'. So the user part is taken to
 * end at the last '@' before the first '?', whatever the rules for URLs say.
 */
#include "cli/text/url.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static size_t options_at(const char *url)
{
    return strcspn(url, "?");
}

/* The position and size of the password.  False: none. */
static bool find_password(const char *url, size_t *ret_from, size_t *ret_size)
{
    const char *slashes = strstr(url, "://");
    const char *end     = url + options_at(url);

    if (slashes == NULL || slashes >= end)
        return false;
    const char *user  = slashes + strlen("://");
    const char *at    = memrchr(user, '@', (size_t)(end - user));
    const char *colon = at != NULL ? memchr(user, ':', (size_t)(at - user)) : NULL;
    if (colon == NULL || colon + 1 == at)
        return false;
    *ret_from = (size_t)(colon + 1 - url);
    *ret_size = (size_t)(at - colon - 1);
    return true;
}

bool url_says(const char *url, const char *key)
{
    const char *option = url + options_at(url);
    size_t      size   = strlen(key);

    while (*option == '?' || *option == '&') {
        option++;
        if (strncmp(option, key, size) == 0 && option[size] == '=')
            return true;
        option += strcspn(option, "&");
    }
    return false;
}

bool url_has_password(const char *url)
{
    size_t from, size;

    return find_password(url, &from, &size) || url_says(url, "password");
}

void url_without_password(char ret_url[URL_MAX + 1], const char *url)
{
    size_t from, size;

    assert(strlen(url) <= URL_MAX);
    if (!find_password(url, &from, &size)) {
        /* `password` is no option, but a user may think so: drop all options. */
        size_t whole = url_says(url, "password") ? options_at(url) : strlen(url);
        (void)snprintf(ret_url, URL_MAX + 1, "%.*s", (int)whole, url);
        return;
    }
    /* The ':' goes too, because "user:@" would be an empty password.  Without a user, '@' goes
     * too. */
    bool has_user = from >= 2 && url[from - 2] != '/';
    (void)snprintf(ret_url, URL_MAX + 1, "%.*s%s", (int)(from - 1), url,
                   url + from + size + (has_user ? 0 : 1));
}

/* The value of an option `password`, which does not exist but may be typed. */
static const char *option_in(const char *text, size_t *ret_size)
{
    static const char option[] = "password=";

    for (const char *at = strstr(text, option); at != NULL; at = strstr(at + 1, option)) {
        const char *value = at + strlen(option);
        *ret_size         = strcspn(value, "& \"'");
        if (at > text && (at[-1] == '?' || at[-1] == '&') && *ret_size > 0)
            return value;
    }
    return NULL;
}

/* Only digits after a host are its port. */
static bool is_port(const char *from, const char *end)
{
    from += strspn(from, "0123456789");
    return from >= end || *from == '/' || *from == ',';
}

static const char *user_part_in(const char *text, size_t *ret_size)
{
    for (const char *at = strstr(text, "://"); at != NULL; at = strstr(at, "://")) {
        at += strlen("://");
        const char *end      = at + strcspn(at, " \"'");
        const char *question = at + strcspn(at, " \"'?");
        const char *colon    = memchr(at, ':', (size_t)(question - at));
        const char *last     = memrchr(at, '@', (size_t)(question - at));
        if (colon == NULL)
            continue;
        /* The password may contain an unencoded '?'. */
        if ((last == NULL || last < colon) && !is_port(colon + 1, question))
            last = memrchr(at, '@', (size_t)(end - at));
        if (last == NULL || colon + 1 >= last)
            continue;
        *ret_size = (size_t)(last - colon - 1);
        return colon + 1;
    }
    return NULL;
}

const char *url_secret_in(const char *text, size_t *ret_size)
{
    size_t      of_user = 0, of_option = 0;
    const char *user   = user_part_in(text, &of_user);
    const char *option = option_in(text, &of_option);

    bool is_option = user == NULL || (option != NULL && option < user);
    *ret_size      = is_option ? of_option : of_user;
    return is_option ? option : user;
}

bool url_is_of_server(const char *text)
{
    static const char *const schemes[] = { "redis", "rediss", "unix", "redlock", "redlocks" };
    size_t                   size      = strcspn(text, ":+");
    const char              *slashes   = strstr(text, "://");

    if (slashes == NULL || slashes - text < (ptrdiff_t)size)
        return false;
    for (unsigned i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strlen(schemes[i]) == size && strncmp(text, schemes[i], size) == 0)
            return true;
    return false;
}

words url_shown(const char *text)
{
    return url_has_password(text) ? words_of("(not shown)") : words_of("%.80s", text);
}
