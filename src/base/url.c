#include "base/url.h"
#include "core/nearest.h"
#include "core/text.h"
#include "base/fault.h"

#include <string.h>

/* A part of the text that is still to be parsed. */
typedef struct span {
    const char *at;
    size_t      size;
} span;

static size_t find(span s, char c)
{
    const char *hit = s.size > 0 ? memchr(s.at, c, s.size) : NULL;

    return hit != NULL ? (size_t)(hit - s.at) : s.size;
}

/* Splits s at n: returns the part before, and s becomes the part after that byte. */
static span cut(span *s, size_t n)
{
    span   before = { s->at, n };
    size_t skip   = n < s->size ? n + 1 : n;

    s->at += skip;
    s->size -= skip;
    return before;
}

/* Decodes the text and stores it in the url; NULL: it cannot be decoded. */
static const char *keep(bwl_url *url, span s)
{
    char *at = url->text + url->used;

    if (!bwl_percent_decode(at, sizeof url->text - url->used, s.at, s.size))
        return NULL;
    url->used += strlen(at) + 1;
    return at;
}

static bool is_scheme(span s)
{
    if (s.size == 0 || s.size >= BWL_URL_SCHEME_MAX || s.at[0] < 'a' || s.at[0] > 'z')
        return false;
    for (size_t i = 0; i < s.size; i++) {
        char c = s.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-'))
            return false;
    }
    return true;
}

static bool is_scheme_in_capitals(span s)
{
    char   small[BWL_URL_SCHEME_MAX];
    size_t i = 0;

    for (; i < s.size && i < sizeof small; i++)
        small[i] = s.at[i] >= 'A' && s.at[i] <= 'Z' ? (char)(s.at[i] - 'A' + 'a') : s.at[i];
    return !is_scheme(s) && is_scheme((span){ small, i });
}

static int take_user(bwl_url *url, span s, bwl_fault *fault)
{
    size_t colon        = find(s, ':');
    bool   has_password = colon < s.size;
    span   user         = cut(&s, colon);

    url->user = keep(url, user);
    if (has_password)
        url->password = keep(url, s);
    if (url->user == NULL || (has_password && url->password == NULL))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, the user or the password is badly percent-encoded");
    return BWL_OK;
}

static int take_port(bwl_url_host *host, span s, bwl_fault *fault)
{
    uint64_t port;

    if (s.size == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, a port is missing after a ':' (the scheme is written once, "
                        "before all hosts)");
    if (!bwl_number_parse(&port, s.at, s.size, 65535) || port == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, the port is not a number from 1 to 65535");
    host->port = (uint16_t)port;
    return BWL_OK;
}

static int take_host(bwl_url *url, span s, bwl_fault *fault)
{
    bwl_url_host *entry = &url->hosts[url->hosts_count];
    span          host;
    bool          has_port;

    if (url->hosts_count == BWL_URL_HOSTS_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, there are more than %d hosts",
                        BWL_URL_HOSTS_MAX);
    url->hosts_count++;

    if (s.size > 0 && s.at[0] == '[') {
        size_t bracket = find(s, ']');
        if (bracket == s.size)
            return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, a '[' has no ']'");
        (void)cut(&s, 0);
        host     = cut(&s, bracket - 1);
        has_port = s.size > 0;
        if (has_port && cut(&s, 0).at[0] != ':')
            return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, ':' must follow a ']'");
    } else {
        size_t colon = find(s, ':');
        has_port     = colon < s.size;
        host         = cut(&s, colon);
    }
    entry->name = keep(url, host);
    if (entry->name == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, the host is badly percent-encoded");
    return has_port ? take_port(entry, s, fault) : BWL_OK;
}

/* No host name contains a comma. */
static int take_hosts(bwl_url *url, span s, bwl_fault *fault)
{
    bool is_list = find(s, ',') < s.size;
    bool is_last = false;

    while (!is_last) {
        size_t comma = find(s, ',');
        is_last      = comma == s.size;
        span each    = cut(&s, comma);
        int  status  = take_host(url, each, fault);
        if (status < 0)
            return status;
        if (is_list && url->hosts[url->hosts_count - 1].name[0] == '\0')
            return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, a host is missing beside a ','");
    }
    url->host = url->hosts[0].name;
    url->port = url->hosts[0].port;
    return BWL_OK;
}

static int take_authority(bwl_url *url, span s, bwl_fault *fault)
{
    size_t at = s.size;

    for (size_t i = 0; i < s.size; i++)
        if (s.at[i] == '@')
            at = i; /* the last: a password may contain an unencoded one */
    if (at < s.size) {
        int status = take_user(url, cut(&s, at), fault);
        if (status < 0)
            return status;
    }
    return take_hosts(url, s, fault);
}

static int take_options(bwl_url *url, span s, bwl_fault *fault)
{
    while (s.size > 0) {
        span   pair  = cut(&s, find(s, '&'));
        size_t equal = find(pair, '=');
        if (equal == pair.size || equal == 0)
            return bwl_fail(fault, BWL_STATUS_USAGE,
                            "in the URL, what follows '?' is not NAME=VALUE[&NAME=VALUE]...");
        if (url->options_count == BWL_URL_OPTIONS_MAX)
            return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, there are more than %d options",
                            BWL_URL_OPTIONS_MAX);
        const char *name  = keep(url, cut(&pair, equal));
        const char *value = keep(url, pair);
        if (name == NULL || value == NULL)
            return bwl_fail(fault, BWL_STATUS_USAGE,
                            "in the URL, an option is badly percent-encoded: a '%%' itself is "
                            "written %%25, as in key=lock:%%25s");
        url->options[url->options_count++] = (bwl_url_option){ name, value };
    }
    return BWL_OK;
}

int bwl_url_parse(bwl_url *ret_url, const char *text, bwl_fault *fault)
{
    span s = { text, strnlen(text, BWL_URL_MAX + 1) };

    *ret_url = (bwl_url){ .path = "" };
    if (s.size > BWL_URL_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the URL is longer than %d bytes", BWL_URL_MAX);

    size_t colon  = find(s, ':');
    bool   is_url = colon < s.size;
    span   scheme = cut(&s, colon);
    if (is_url && is_scheme_in_capitals(scheme))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, the scheme is written in small letters: redis://");
    if (!is_url || !is_scheme(scheme))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "this is not a URL: it does not begin with thread:, file:, redis://, "
                        "rediss:// or unix://");
    memcpy(ret_url->scheme, scheme.at, scheme.size);

    span rest = cut(&s, find(s, '?'));
    int  status;
    if (rest.size >= 2 && rest.at[0] == '/' && rest.at[1] == '/') {
        rest.at += 2;
        rest.size -= 2;
        size_t slash     = find(rest, '/');
        span   authority = { rest.at, slash };
        if (authority.size > 0 && find(s, '@') < s.size) /* most likely in a password */
            return bwl_fail(fault, BWL_STATUS_USAGE,
                            "in the URL, a '@' follows a '?': a '?' in a password is written %%3F, "
                            "a '@' in an option %%40");
        rest.at += slash;
        rest.size -= slash;
        status = take_authority(ret_url, authority, fault);
        if (status < 0)
            return status;
    }
    ret_url->path = keep(ret_url, rest);
    if (ret_url->path == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, the path is badly percent-encoded");
    return take_options(ret_url, s, fault);
}

void bwl_url_wipe(bwl_url *url)
{
    explicit_bzero(url, sizeof *url);
}

const char *bwl_url_find(const bwl_url *url, const char *name)
{
    for (unsigned i = 0; i < url->options_count; i++)
        if (strcmp(url->options[i].name, name) == 0)
            return url->options[i].value;
    return NULL;
}

static int check_option(const bwl_url *url, const char *const *known, const char *name,
                        bwl_fault *fault)
{
    size_t count = 0;

    for (; known[count] != NULL; count++)
        if (strcmp(known[count], name) == 0)
            return BWL_OK;
    const char *nearest = bwl_nearest(name, known, count);
    if (nearest != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: has no option \"%.40s\": did you mean %s=?",
                        url->scheme, name, nearest);
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "%s: has no option \"%.40s\": man 7 bowline lists those that there are",
                    url->scheme, name);
}

int bwl_url_check_options(const bwl_url *url, const char *const *known, bwl_fault *fault)
{
    for (unsigned i = 0; i < url->options_count; i++) {
        const char *name   = url->options[i].name;
        int         status = check_option(url, known, name, fault);
        if (status < 0)
            return status;
        for (unsigned j = 0; j < i; j++)
            if (strcmp(url->options[j].name, name) == 0)
                return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, %s= occurs twice", name);
    }
    return BWL_OK;
}
